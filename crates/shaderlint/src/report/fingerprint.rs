//! Fingerprints, which identify findings across runs even if lines move.

use std::collections::HashMap;

use shaderlint_linter::Diagnostic;

/// Computes fingerprints. A finding has the same fingerprint in a later run, even if lines before it come and
/// go.
#[derive(Default)]
pub(super) struct Fingerprints {
    seen: HashMap<u64, u64>,
}

impl Fingerprints {
    /// The fingerprint of a finding in the file `path`. A later finding with the same rule and message in
    /// this file gets another one.
    pub fn of(&mut self, path: &str, finding: &Diagnostic) -> String {
        let parts = [path, finding.rule, &finding.message];
        let hash = hash(parts.iter().flat_map(|part| part.bytes().chain([0])));
        let count = self.seen.entry(hash).or_default();
        *count += 1;
        format!("{hash:016x}{count:x}")
    }
}

/// FNV-1a: the same on every machine and in every version.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_fnv() {
        assert_eq!(hash("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("foobar".bytes()), 0x8594_4171_f739_67e8);
    }
}
