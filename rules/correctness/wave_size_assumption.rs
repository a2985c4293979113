//! `wave-size-assumption`: wave code that is right at some wave sizes or packings and wrong at others.

use shaderlint_hlsl::Span;
use shaderlint_linter::{Category, Context, Finding, Label, Level, Rule, ShaderModel, Verdict};
use shaderlint_simt::{LaneMap, OutOfBounds, Race, WaveDependence, WaveEffect};

use crate::describe::{races, witness};
use crate::source::lines;
use crate::source::unit::Unit;

pub(crate) const RULE: Rule = Rule {
    id: "wave-size-assumption",
    category: Category::Correctness,
    summary: "wave code that races, runs out of bounds or changes its result at some wave size or lane map",
    aliases: &[],
    explanation: include_str!("wave_size_assumption.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let dependence = context.analysis.wave_dependence.as_ref();
    findings.extend(dependence.map(|dependence| finding(context, dependence)));
}

fn finding(context: &Context<'_>, dependence: &WaveDependence) -> Finding {
    let waves = waves(dependence);
    let name = context
        .function(context.entry)
        .map_or(Span::default(), |function| function.name_span);
    let (size, map) = dependence.sound;
    let elsewhere = format!("waves of {size} lanes{}", packed(map));
    let (message, place, witness) = match &dependence.effect {
        WaveEffect::OutOfBounds(access) => outside(context, access, &waves),
        WaveEffect::Races(race) => races(context, race, &waves),
        WaveEffect::Differs {
            place,
            thread,
            expected,
            got,
        } => (
            // The author may mean either result.
            format!("the result in {waves} differs from that in {elsewhere}"),
            name,
            format!("thread {thread} writes {got} to {place}; in {elsewhere} the value is {expected}"),
        ),
    };
    Finding {
        entry: context.entry,
        message,
        shape: None,
        verdict: Verdict::WaveDependent,
        needs: ShaderModel::ANY,
        worth: Level::Error,
        primary: Label {
            place,
            text: String::new(),
        },
        secondary: Vec::new(),
        notes: vec![
            match dependence.sizes.first() {
                Some(smallest) => format!("in waves of {smallest}, {witness}"),
                None => witness,
            },
            if dependence.is_in_part {
                "waves have 4 to 128 lanes; what happens at the other sizes is not proved".to_owned()
            } else if dependence.map == LaneMap::Linear {
                // A kernel that asks for the wave size knows that it varies.
                let all = if Unit::of(context.shader).is_expanded(context.shader, b"WaveGetLaneCount") {
                    "support every size"
                } else {
                    "use WaveGetLaneCount()"
                };
                format!("waves have 4 to 128 lanes: {all}, or require one with [WaveSize(...)]")
            } else {
                "HLSL does not specify which threads of a 2-D or 3-D group share a wave".to_owned()
            },
        ],
        fix: None,
        no_fix: None,
    }
}

fn outside(context: &Context<'_>, access: &OutOfBounds, waves: &str) -> (String, Span, String) {
    let element = witness::element(context, access.array, access.index);
    let verb = if access.access.is_write { "writes" } else { "reads" };
    let around = &access.access.around;
    let iterations = witness::iterations(context, around);
    let when = witness::when(context, access.since.as_ref(), access.access.span, &[around]);
    let when = when.map_or(String::new(), |when| format!(", {when}"));
    let seen = format!(
        "thread {} {verb} {element}, outside the array{when}{iterations}",
        access.access.thread
    );
    (
        format!("{element} is outside the array in {waves}"),
        access.access.span,
        seen,
    )
}

fn races(context: &Context<'_>, race: &Race, waves: &str) -> (String, Span, String) {
    // Waves of other sizes may race on other elements.
    let raced_on = match (race.wave_size, context.global(race.array)) {
        (Some(_), Some(array)) => array.name.clone(),
        _ => witness::element(context, race.array, race.index),
    };
    (
        format!("data race on {raced_on} in {waves}"),
        race.second.span,
        races::meeting(context, race),
    )
}

/// `waves of 4, 8 and 16 lanes`, with their packing where it is unusual.
fn waves(dependence: &WaveDependence) -> String {
    let sizes: Vec<String> = dependence.sizes.iter().map(u32::to_string).collect();
    let sizes = lines::listed(&sizes);
    let of = if dependence.is_in_part {
        "such as those of"
    } else {
        "of"
    };
    format!("waves {of} {sizes} lanes{}", packed(dependence.map))
}

fn packed(map: LaneMap) -> String {
    match map {
        LaneMap::Linear => String::new(),
        LaneMap::Quads => " packed in 2\u{d7}2 quads".to_owned(),
        other => format!(" packed {}", other.name()),
    }
}
