//! What a comparison of two kernels comes to.

use shaderlint_hlsl::{FunctionId, Problem, Shader, Version};
use shaderlint_simt::{Floats, LaneMap, Outcome, WaveRun, compare, compare_stretch, compare_with};

use crate::cases::Kernel;
use crate::facts::{Topic, entry_of, numbers, problems, shader_of};

/// For each way to compare, its outcome.
pub(crate) const TOPICS: &[Topic<Pair>] = &[
    Topic {
        starts: &["equal", "not proved", "differ at", "out of bounds", "races"],
        facts: |pair| outcomes("", compare(pair.first(), pair.second(), MAPS)),
    },
    Topic {
        starts: &["the other way:"],
        facts: |pair| outcomes("the other way: ", compare(pair.second(), pair.first(), MAPS)),
    },
    Topic {
        starts: &["the first with itself:"],
        facts: |pair| {
            outcomes(
                "the first with itself: ",
                compare(pair.first(), pair.first(), MAPS),
            )
        },
    },
    Topic {
        starts: &["the second with itself:"],
        facts: |pair| {
            outcomes(
                "the second with itself: ",
                compare(pair.second(), pair.second(), MAPS),
            )
        },
    },
    Topic {
        starts: &["for numbers:"],
        facts: |pair| {
            let runs = compare_with(Floats::Numbers, pair.first(), pair.second(), MAPS);
            outcomes("for numbers: ", runs)
        },
    },
    Topic {
        starts: &["as whole kernels:"],
        facts: |pair| {
            let runs = compare_with(Floats::Any, pair.first(), pair.second(), MAPS);
            outcomes("as whole kernels: ", runs)
        },
    },
    Topic {
        starts: &["as statements:"],
        facts: |pair| {
            let runs = compare_stretch(Floats::Any, pair.first(), pair.second(), MAPS);
            outcomes("as statements: ", runs.into_iter().flatten())
        },
    },
    Topic {
        starts: &["problem:", "no problems"],
        facts: |pair| problems(&pair.problems),
    },
];

const MAPS: &[LaneMap] = &[LaneMap::Linear];

/// Two kernels to compare.
pub(crate) struct Pair {
    shaders: [Shader; 2],
    entries: [FunctionId; 2],
    problems: Vec<Problem>,
}

impl Pair {
    pub(crate) fn of(kernels: [&Kernel; 2], version: Option<Version>) -> Result<Self, String> {
        let read = kernels.map(|kernel| shader_of(kernel, version));
        let problems = read.iter().flat_map(|(_, problems)| problems.clone()).collect();
        let shaders = read.map(|(shader, _)| shader);
        let entries = [entry_of(&shaders[0])?, entry_of(&shaders[1])?];
        Ok(Pair {
            shaders,
            entries,
            problems,
        })
    }

    fn first(&self) -> (&Shader, FunctionId) {
        (&self.shaders[0], self.entries[0])
    }

    fn second(&self) -> (&Shader, FunctionId) {
        (&self.shaders[1], self.entries[1])
    }
}

/// The outcomes at all wave sizes, behind a word for the way of comparing. Neighbouring sizes with one outcome make one fact.
fn outcomes(way: &str, runs: impl Iterator<Item = WaveRun>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for run in runs {
        let assumes = if run.assumes_convergence {
            "convergence"
        } else {
            "nothing"
        };
        let outcome = format!("{way}{}, assuming {assumes}", outcome(&run.outcome));
        match groups.last_mut() {
            Some((last, sizes)) if *last == outcome => sizes.push(run.wave_size),
            _ => groups.push((outcome, vec![run.wave_size])),
        }
    }
    if groups.is_empty() {
        return vec![format!("{way}not comparable")];
    }
    let groups = groups.into_iter();
    let groups = groups.map(|(outcome, sizes)| format!("{outcome}, at wave size {}", numbers(&sizes)));
    groups.collect()
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Equal => "equal".to_owned(),
        Outcome::Reassociates => "equal up to the order of floats".to_owned(),
        Outcome::Differs(difference) => {
            let (place, expected, got) = (&difference.place, &difference.expected, &difference.got);
            format!("differ at {place}: {expected} against {got}")
        }
        Outcome::OutOfBounds { .. } => "out of bounds".to_owned(),
        Outcome::Races { .. } => "races".to_owned(),
        Outcome::RoundsBeyond(_) | Outcome::Undecided | Outcome::NotProved(_) => {
            format!("not proved: {}", outcome.reason())
        }
    }
}
