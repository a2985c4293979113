//! Readings that make others redundant.

use std::collections::HashSet;

use rustc_hash::FxHashMap;
use shaderlint_linter::Safety;

use super::reading::Reading;
use crate::support::definition::Define;
use crate::support::words::words;

/// Readings that stand for all others of their likeness, with the words of their fixes.
///
/// A reading with the same text gets the same proof and the same fix, unless it defines a word of that fix. A reading
/// stands for no other if one of its fixes is safe, for each reading has to confirm that; if no build compiles some
/// kernel in it, for one may do so in another reading; or if it is one of `#pragma kernel` lines.
#[derive(Default)]
pub(super) struct StandIns(FxHashMap<u64, HashSet<Vec<u8>>>);

impl StandIns {
    pub fn of(readings: &[Reading]) -> StandIns {
        let mut known = StandIns::default();
        for reading in readings {
            known.note(reading);
        }
        known
    }

    pub fn note(&mut self, reading: &Reading) {
        let findings = reading.report.findings.iter();
        let fixes = || findings.clone().filter_map(|finding| finding.fix.as_ref());
        let is_safe = fixes().any(|fix| fix.safety == Safety::Safe);
        let is_of_kernels = reading.name.kernels().is_some();
        if is_safe || !reading.is_built || !reading.unbuilt.is_empty() || is_of_kernels {
            return;
        }
        if let Some(likeness) = reading.likeness {
            let edits = fixes().flat_map(|fix| &fix.edits);
            let words = edits.flat_map(|edit| words(edit.text.as_bytes()));
            self.0.insert(likeness, words.map(<[u8]>::to_vec).collect());
        }
    }

    /// Whether one stands for a reading of this likeness under these definitions.
    pub fn have(&self, likeness: u64, defines: &[Define]) -> bool {
        let mut names = defines.iter().map(|(name, _)| name.as_bytes());
        let words = self.0.get(&likeness);
        words.is_some_and(|words| !names.any(|name| words.contains(name)))
    }
}
