//! Macros that are defined before a file is read.

use anyhow::Result;
pub(crate) use shaderlint_hlsl::Define;

/// The definitions of `base`, overridden by those of `over`. Has one definition per name, the last one.
pub(crate) fn overlaid(base: &[Define], over: &[Define]) -> Vec<Define> {
    let mut defines: Vec<Define> = Vec::new();
    for (name, value) in base.iter().chain(over) {
        match defines.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1.clone_from(value),
            None => defines.push((name.clone(), value.clone())),
        }
    }
    defines
}

/// Reads `NAME` or `NAME=VALUE`.
pub(crate) fn definition(text: &str) -> Result<Define, String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    if is_name(name) {
        Ok((name.to_owned(), value.to_owned()))
    } else {
        Err(format!("`{name}` is not a name"))
    }
}

pub(crate) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let starts_well = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    starts_well && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(definition("A"), pair("A", "1"));
        assert_eq!(definition("A=b=c"), pair("A", "b=c"));
        assert_eq!(definition("A="), pair("A", ""));
        assert!(definition("=1").is_err() && definition("1A").is_err() && definition("F(x)=x").is_err());
    }

    #[test]
    fn the_later_definition_wins() {
        let pairs =
            |text: &[&str]| -> Vec<Define> { text.iter().filter_map(|text| definition(text).ok()).collect() };
        assert_eq!(
            overlaid(&pairs(&["A=1", "B"]), &pairs(&["A=2", "C"])),
            pairs(&["A=2", "B", "C"])
        );
    }
}
