//! The format of shown numbers.

/// 10^9 bytes per second, to three digits or two decimal places.
pub fn rate(rate: f64) -> String {
    match rate {
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate if rate < 100.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

/// Milliseconds to three decimal places, or fewer from 10 ms on.
pub fn three_digits(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.3}"),
        ms if ms < 100.0 => format!("{ms:.2}"),
        ms => format!("{ms:.1}"),
    }
}

/// `100,000`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
