//! Lines and files in words.

/// The number of the line that comes after a text, from 1.
pub(crate) fn line_after(before: &[u8]) -> usize {
    before.split(|byte| *byte == b'\n').count()
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `line 5`, `lines 5 and 7` or `lines 43 to 47`, of numbers in ascending order.
pub(crate) fn lines_in_words(numbers: &[usize]) -> String {
    let is_run = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match numbers {
        [only] => format!("line {only}"),
        [first, .., last] if is_run && numbers.len() > 2 => format!("lines {first} to {last}"),
        _ => {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            format!("lines {}", listed(&numbers))
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
