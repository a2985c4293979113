//! Kernels as people write them, at random: shapes, operators, types, sizes, index mappings, names, layout, comments at odd
//! places, and slips of the kind that compiles.
//!
//! What is written here need not be right: what is offered for it has to be.

mod draft;
mod layout;
mod shapes;
mod slips;

use std::ops::Range;

use crate::random::Random;
use draft::Draft;

/// A kernel written at random.
#[derive(Clone, Debug)]
pub struct Ladder {
    pub text: String,
    /// What was meant, in a few words.
    pub about: String,
    /// Something in it was changed that may matter.
    pub has_slip: bool,
    /// The buffer that it reads, where its floats are multiplied: what is in there has to be near 1.
    pub multiplies: Option<String>,
}

/// Which seeds are tried where that is not as many as are worth their time in every run of the tests: `FROM..TO`.
const SEEDS: &str = "SHADERLINT_LADDERS";

/// The seeds to try: `usual`, unless the environment asks for others.
///
/// # Panics
/// Where what is asked for is no range.
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

/// The kernel of a seed: the same each time.
#[must_use]
pub fn ladder(seed: u64) -> Ladder {
    let mut random = Random::new(seed);
    let mut draft = Draft::new(&mut random);
    let shape = shapes::shape(&mut draft);
    let kernel = draft.kernel(&shape);
    let mut about = draft.about(shape.name);
    let has_slip = draft.random.once_in(4);
    let multiplies = draft.multiplies(has_slip);
    let mut tokens = layout::tokens(&kernel);
    if has_slip {
        about.push_str(&slips::slip(&mut tokens, &mut random));
    }
    Ladder {
        text: layout::lay_out(&tokens, &mut random),
        about,
        has_slip,
        multiplies,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ladder;

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
            let (shader, problems) =
                shaderlint_hlsl::read("0", ladder.text.as_bytes(), &[], &shaderlint_hlsl::NoIncludes);
            assert_eq!(shader.entry_points().count(), 1, "{seed}:\n{}", ladder.text);
            assert!(
                ladder.has_slip || problems.is_empty(),
                "{seed}: {problems:?}\n{}",
                ladder.text
            );
        }
    }
}
