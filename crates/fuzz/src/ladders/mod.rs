//! Random kernels as people write them: shapes, operators, types, sizes, index mappings, names, layout, comments in
//! unusual places, surrounding code, and slips that still compile.
//!
//! The kernels need not be correct, but the fixes offered for them have to be.

mod draft;
mod layout;
mod older_scopes;
mod readings;
mod shapes;
mod slips;
mod surroundings;

use std::fmt::Write;
use std::ops::Range;

use shaderlint_hlsl::Storage;

use crate::independent::{LIMIT, MESH_LIMIT};
use crate::random::Random;
use draft::{Draft, Kernel};
pub use readings::{Language, Reading};
pub use surroundings::Feature;

/// A random kernel.
#[derive(Clone, Debug)]
pub struct Ladder {
    pub text: String,
    /// A description of the intent, in a few words.
    pub about: String,
    /// A slip that may matter was made in it.
    pub has_slip: bool,
    /// The buffer that it reads, if it multiplies floats: values in the buffer have to be near 1.
    pub multiplies: Option<String>,
    /// The features of its surroundings.
    pub features: Vec<Feature>,
    /// The readings by builds; the first is the usual one.
    pub readings: Vec<Reading>,
}

/// The environment variable with other seeds than those that every test run tries: `FROM..TO`.
const SEEDS: &str = "SHADERLINT_LADDERS";

/// The seeds to try: `usual`, unless the environment names others.
///
/// # Panics
/// If the value is no range.
#[must_use]
pub fn seeds_asked(usual: Range<u64>) -> Range<u64> {
    let Ok(asked) = std::env::var(SEEDS) else {
        return usual;
    };
    let range = asked
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or_else(|| panic!("{SEEDS}={asked} is not FROM..TO"))
}

/// The kernel of a seed. It is deterministic.
#[must_use]
pub fn ladder(seed: u64) -> Ladder {
    let mut random = Random::new(seed);
    let mut draft = Draft::new(&mut random);
    let shape = shapes::shape(&mut draft);
    let mut about = draft.about(shape.name);
    let mut kernel = draft.kernel(shape);
    let around = surroundings::surround(&mut draft, &mut kernel);
    let readings = around.builds.readings();
    let file = filled(draft.file(&kernel), &kernel, &readings);
    for feature in &around.features {
        let _ = write!(about, ", {feature:?}");
    }
    let has_slip = draft.random.once_in(4);
    let multiplies = draft.multiplies(has_slip);
    let mut tokens = layout::tokens(&file);
    if has_slip {
        about.push_str(&slips::slip(&mut tokens, &mut random));
    }
    Ladder {
        text: layout::lay_out(&tokens, &mut random),
        about,
        has_slip,
        multiplies,
        features: around.features,
        readings,
    }
}

/// The file with its filling array as long as the remaining memory allows.
fn filled(file: String, kernel: &Kernel, readings: &[Reading]) -> String {
    let Some(bytes_left) = kernel.bytes_left else {
        return file;
    };
    let smallest = file.replace(surroundings::BALLAST, "1");
    let used = readings.iter().map(|reading| {
        let (shader, _) = reading.read(smallest.as_bytes());
        let globals = shader.globals.iter();
        let arrays = globals.filter(|global| global.storage == Storage::Groupshared);
        arrays.map(|global| 4 * shader.words(&global.ty)).sum::<usize>()
    });
    let limit = if kernel.attributes.is_empty() {
        LIMIT
    } else {
        MESH_LIMIT
    };
    let left = limit.saturating_sub(bytes_left + used.max().unwrap_or(0));
    file.replace(surroundings::BALLAST, &(1 + left / 4).to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Feature, ladder};

    #[test]
    fn ladders_are_the_same_each_time_and_unlike() {
        let texts: BTreeSet<String> = (0..200).map(|seed| ladder(seed).text).collect();
        assert_eq!(texts.len(), 200);
        for seed in 0..200 {
            assert!(texts.contains(&ladder(seed).text));
        }
    }

    #[test]
    fn what_has_no_slip_is_read_whole() {
        for seed in 0..400 {
            let ladder = ladder(seed);
            // The names that only these stages have are unknown.
            let is_of_stage =
                |one: &Feature| matches!(one, Feature::MeshShader | Feature::AmplificationShader);
            let has_stage = ladder.features.iter().any(is_of_stage);
            for reading in &ladder.readings {
                let (shader, problems) = reading.read(ladder.text.as_bytes());
                let shown = || format!("{seed}, {reading}: {problems:?}\n{}", ladder.text);
                assert!(shader.entry_points().count() >= 1, "{}", shown());
                assert!(ladder.has_slip || has_stage || problems.is_empty(), "{}", shown());
            }
        }
    }

    #[test]
    fn every_feature_is_drawn() {
        let drawn: BTreeSet<Feature> = (0..400).flat_map(|seed| ladder(seed).features).collect();
        assert_eq!(drawn, BTreeSet::from(Feature::ALL));
    }
}
