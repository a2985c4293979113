//! What a comparison of two kernels comes to.

use shaderlint_hlsl::{FunctionId, NoIncludes, Shader, Version};
use shaderlint_simt::{Floats, LaneMap, Outcome, WaveRun, compare, compare_stretch, compare_with};

use crate::cases::Kernel;
use crate::facts::{Topic, entry_of, numbers};

/// What a comparison comes to, for each way to compare.
pub(crate) const TOPICS: &[Topic<[Kernel]>] = &[
    Topic {
        starts: &["equal", "not proved", "differ at", "out of bounds", "races"],
        facts: |pair| {
            outcomes("", pair, None, |first, second| {
                compare(first, second, MAPS).collect()
            })
        },
    },
    Topic {
        starts: &["the other way:"],
        facts: |pair| {
            outcomes("the other way: ", pair, None, |first, second| {
                compare(second, first, MAPS).collect()
            })
        },
    },
    Topic {
        starts: &["the first with itself:"],
        facts: |pair| {
            outcomes("the first with itself: ", pair, None, |first, _| {
                compare(first, first, MAPS).collect()
            })
        },
    },
    Topic {
        starts: &["the second with itself:"],
        facts: |pair| {
            outcomes("the second with itself: ", pair, None, |_, second| {
                compare(second, second, MAPS).collect()
            })
        },
    },
    Topic {
        starts: &["for numbers:"],
        facts: |pair| {
            outcomes("for numbers: ", pair, None, |first, second| {
                compare_with(Floats::Numbers, first, second, MAPS).collect()
            })
        },
    },
    Topic {
        starts: &["as whole kernels:"],
        facts: |pair| {
            outcomes("as whole kernels: ", pair, None, |first, second| {
                compare_with(Floats::Any, first, second, MAPS).collect()
            })
        },
    },
    Topic {
        starts: &["as statements:"],
        facts: |pair| {
            outcomes("as statements: ", pair, None, |first, second| {
                let runs = compare_stretch(Floats::Any, first, second, MAPS);
                runs.into_iter().flatten().collect()
            })
        },
    },
    Topic {
        starts: &["HLSL 2018:"],
        facts: |pair| in_version("HLSL 2018: ", pair, Version::V2018),
    },
    Topic {
        starts: &["HLSL 2021:"],
        facts: |pair| in_version("HLSL 2021: ", pair, Version::V2021),
    },
    Topic {
        starts: &["HLSL 202x:"],
        facts: |pair| in_version("HLSL 202x: ", pair, Version::V202x),
    },
];

const MAPS: &[LaneMap] = &[LaneMap::Linear];

type Side<'a> = (&'a Shader, FunctionId);

/// The outcomes at all wave sizes, each once, behind a word for the way of comparing.
fn outcomes(
    way: &str,
    pair: &[Kernel],
    version: Option<Version>,
    compare: fn(Side<'_>, Side<'_>) -> Vec<WaveRun>,
) -> Vec<String> {
    let shaders: Vec<Shader> = pair.iter().map(|kernel| shader_of(kernel, version)).collect();
    let sides: Result<Vec<Side<'_>>, String> = { shaders.iter() }
        .map(|shader| Ok((shader, entry_of(shader)?)))
        .collect();
    let [first, second] = match sides.as_deref() {
        Ok(&[first, second]) => [first, second],
        Ok(_) => return vec![format!("{way}no pair")],
        Err(why) => return vec![format!("{way}{why}")],
    };
    let runs = compare(first, second);
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for run in runs {
        let presumes = if run.presumes {
            "presuming that threads stay"
        } else {
            "presuming nothing"
        };
        let outcome = format!("{way}{}, {presumes}", outcome(&run.outcome));
        match groups.last_mut() {
            Some((last, sizes)) if *last == outcome => sizes.push(run.wave_size),
            _ => groups.push((outcome, vec![run.wave_size])),
        }
    }
    if groups.is_empty() {
        return vec![format!("{way}not comparable")];
    }
    let groups = groups.into_iter();
    groups
        .map(|(outcome, sizes)| format!("{outcome}, at wave size {}", numbers(&sizes)))
        .collect()
}

fn in_version(way: &str, pair: &[Kernel], version: Version) -> Vec<String> {
    outcomes(way, pair, Some(version), |first, second| {
        compare(first, second, MAPS).collect()
    })
}

fn shader_of(kernel: &Kernel, version: Option<Version>) -> Shader {
    let (mut unit, problems) =
        shaderlint_hlsl::preprocess("suite.hlsl", kernel.text.as_bytes(), &[], &NoIncludes);
    unit.version = version;
    shaderlint_hlsl::read_preprocessed(unit, problems, None).0
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
        Outcome::RoundsBeyond(_) | Outcome::NotProved(_) => format!("not proved: {}", outcome.reason()),
    }
}
