//! A scan or a reduction in words: its elements, what was proved of it, and where its text is.

use shaderlint_hlsl::{Global, Span, StmtKind, Type};
use shaderlint_linter::{Assumption, Context, Label, Verdict};
use shaderlint_simt::{
    Access, Amid, Collective, Elements, Half, Instance, Kind, Needs, Operator, Race, Shape,
};

use crate::describe::{element, witness};
use crate::source::lines;
use crate::source::unit::Unit;
use crate::source::words::words;

/// The common name of a combination by the operator.
pub(crate) fn name(operator: Operator) -> &'static str {
    match operator {
        Operator::Add | Operator::FloatAdd => "sum",
        Operator::Mul | Operator::FloatMul => "product",
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => "minimum",
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => "maximum",
        Operator::And => "AND",
        Operator::Or => "OR",
        Operator::Xor => "XOR",
    }
}

/// The number of elements and their type.
pub(crate) fn elements(context: &Context<'_>, of: &Collective) -> String {
    let (count, ty) = (of.count, of.element_name());
    let elements = match component(context, of) {
        Some((component, width)) => format!("the {component} components of {count} {ty}{width}s"),
        None => format!("{count} {ty}s"),
    };
    let elements = match of.blocks {
        0 | 1 => elements,
        blocks => format!("each of {blocks} blocks of {elements}"),
    };
    match of.half {
        None => elements,
        Some(Half::Low) => format!("the low halves of {elements}"),
        Some(Half::High) => format!("the high halves of {elements}"),
    }
}

/// Which component of vectors the elements are, and how many components these have; `None` for other elements.
fn component(context: &Context<'_>, of: &Collective) -> Option<(char, u8)> {
    let Elements::Array {
        global,
        component: Some(component),
        ..
    } = of.input
    else {
        return None;
    };
    let mut ty = &context.global(global)?.ty;
    while let Type::Array(element, _) | Type::Resource(_, Some(element)) = ty {
        ty = element;
    }
    match ty {
        Type::Vector(_, width) => Some((*['x', 'y', 'z', 'w'].get(usize::from(component))?, *width)),
        _ => None,
    }
}

/// The other results of the same statements.
pub(crate) fn beside(context: &Context<'_>, found: &Collective) -> Option<String> {
    let others = found.beside.iter().map(|other| {
        let (what, index) = match found.kind {
            Kind::Reduction => (name(other.operator), ""),
            Kind::InclusiveScan | Kind::ExclusiveScan => ("scan", "i"),
        };
        format!(
            "the {what} in {}",
            element::text(context, found, &other.output, index)
        )
    });
    let others: Vec<String> = others.collect();
    let is_any = !others.is_empty();
    is_any.then(|| format!("the same statements also compute {}", lines::listed(&others)))
}

/// The algorithm, as an id.
pub(crate) fn shape_id(found: &Collective) -> &'static str {
    match found.shape {
        Shape::Doubling => "doubling",
        Shape::Sweeps => "sweeps",
        Shape::Tree => "tree",
        Shape::Serial => "serial",
        Shape::Other => "other",
    }
}

pub(crate) fn verdict(found: &Collective) -> Verdict {
    if found.is_exact() {
        Verdict::Proved
    } else {
        Verdict::Reassociates
    }
}

/// The rounds and barriers of the construct.
pub(crate) fn effort(found: &Collective) -> String {
    let steps = match found.shape {
        Shape::Doubling | Shape::Tree => counted(found.rounds, "round") + ", ",
        // A sweep up a tree is followed by a sweep down.
        Shape::Sweeps => counted(found.rounds, "level") + ", ",
        // The number of times that partial results grew is not the number of iterations of a loop.
        Shape::Serial | Shape::Other => String::new(),
    };
    format!(
        "{steps}{}{}",
        counted(found.barriers, "barrier"),
        instances(found, ",")
    )
}

fn counted(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The bounds of loops that the proof covers, where it does not cover all.
fn instances(found: &Collective, before: &str) -> String {
    let instances = found.instances.iter().enumerate().map(|(number, instance)| {
        let before = if number == 0 {
            format!("{before} for")
        } else {
            ",".to_owned()
        };
        format!("{before} {} = {}", instance.bound, instance.value)
    });
    instances.collect()
}

/// The proved statement, as a formula.
pub(crate) fn proof(context: &Context<'_>, scan: &Collective) -> String {
    let element = |elements: &Elements, index: &str| {
        let mut word = element::text(context, scan, elements, index);
        if index.is_empty() && matches!(elements, Elements::Register { .. }) {
            word = format!("every thread's `{word}`");
        }
        match scan.half {
            None => word,
            Some(Half::Low) => format!("({word} & 0xFFFF)"),
            Some(Half::High) => format!("({word} >> 16)"),
        }
    };
    let last = (scan.count - 1).to_string();
    let (from, to) = match (scan.kind, scan.reversed) {
        (Kind::Reduction, _) => ("0", &*last),
        (Kind::InclusiveScan, false) => ("0", "i"),
        (Kind::ExclusiveScan, false) => ("0", "i-1"),
        (Kind::InclusiveScan, true) => ("i", &*last),
        (Kind::ExclusiveScan, true) => ("i+1", &*last),
    };
    let (from, to) = (element(&scan.input, from), element(&scan.input, to));
    let combined = format!("{} of {from} \u{2026} {to}", combination(scan.operator));
    let (output, for_all) = if scan.kind == Kind::Reduction {
        (element(&scan.output, ""), String::new())
    } else {
        let for_all = format!(" for all i < {}", scan.count);
        (element(&scan.output, "i"), for_all)
    };
    let afresh = if scan.segment < scan.count {
        format!(", restarting every {} elements", scan.segment)
    } else if scan.blocks > 1 {
        format!(
            ", and likewise for each of the {} blocks of {} elements",
            scan.blocks, scan.count
        )
    } else {
        String::new()
    };
    let up_to = if scan.operator.is_exact() {
        ""
    } else {
        ", up to rounding"
    };
    let needs = Assumption::all_in_words(&assumptions(scan.needs).collect::<Vec<_>>());
    let modulo = if scan.half.is_some() { " modulo 65536" } else { "" };
    let instances = instances(scan, ";");
    let races = context.analysis.races.iter();
    let mut races = races.filter(|race| race.has_part(scan) || is_written_within(context, race, scan));
    // A race with another bound does not concern this one.
    let is_for_others = |race: &Race| {
        let mut bounds = race.given.iter();
        let is_other = |given: &Instance| {
            let mut own = scan.instances.iter();
            own.any(|own| own.bound == given.bound && own.value != given.value)
        };
        bounds.any(is_other)
    };
    let amid = scan.amid.map(|amid| match amid {
        Amid::Read(read) => format!(
            "although the read {} may run at the same time, as no barrier is proved to separate the two",
            witness::on_lines(context, &[read], scan.span)
        ),
        Amid::Barrier(barrier) => format!(
            "although, for some inputs, threads may not reach {}",
            witness::barrier(context, barrier, scan.span)
        ),
    });
    let (freely, apart) = match (races.clone().next().is_some(), races.all(is_for_others)) {
        (true, true) => (
            "race-free",
            " (another number of iterations has a race, which is reported separately)",
        ),
        (true, false) => ("once the reported race on its array is fixed", ""),
        (false, _) => (amid.as_deref().unwrap_or("race-free"), ""),
    };
    let given = if scan.assumes_convergence {
        ", for inputs for which all threads reach its barriers"
    } else {
        ""
    };
    // A write out of bounds may change anything in groupshared memory.
    let mut outside = context.analysis.out_of_bounds.iter();
    let within = if outside.any(|found| found.access.is_write) {
        ", once the reported out-of-bounds write is fixed"
    } else {
        ""
    };
    let ends = match scan.output {
        Elements::Expression { .. } => "is",
        _ => "ends as",
    };
    format!(
        "proved: {output} {ends} {combined}{modulo}{for_all}{afresh}, {freely}{up_to}{needs}{within}{given}{instances}{apart}"
    )
}

/// A combination by the operator, as the subject of a proof.
pub(crate) fn combination(operator: Operator) -> String {
    let bitwise = match operator {
        Operator::And | Operator::Or | Operator::Xor => "bitwise ",
        _ => "",
    };
    format!("the {bitwise}{}", name(operator))
}

/// What the proof assumes of floats.
pub(crate) fn assumptions(needs: Needs) -> impl Iterator<Item = Assumption> {
    let numbers = needs.numbers.then_some(Assumption::NoNan);
    let powers = needs.powers.then_some(Assumption::ExactPowers);
    numbers.into_iter().chain(powers)
}

/// Whether an access of a race is in the text of the construct, or in that of a macro around it.
fn is_written_within(context: &Context<'_>, race: &Race, found: &Collective) -> bool {
    let locate = |span: Span| context.shader.origins.locate(span);
    let whole = locate(head(context, found));
    let is_within = |access: &Access| {
        let places = whole.zip(locate(access.span));
        places.is_some_and(|(whole, part)| {
            whole.file == part.file && whole.start <= part.start && part.end <= whole.end
        })
    };
    found.arrays.contains(&race.array) && (is_within(&race.first) || is_within(&race.second))
}

/// What the proof assumes of other groups, where elements are in resources.
pub(crate) fn assumed_of_other_groups(context: &Context<'_>, found: &Collective) -> Option<String> {
    let names = found
        .tiles
        .iter()
        .filter_map(|extent| context.global(extent.resource));
    let names: Vec<&str> = names.map(|resource| &*resource.name).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" and ");
        format!("the proof holds if no other group writes these elements of {names} meanwhile")
    })
}

/// Where a reader looks for the construct: at itself, or, where it only calls functions that hold its steps, at the
/// first loop with a barrier in these.
pub(crate) fn head(context: &Context<'_>, found: &Collective) -> Span {
    let holds = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
    if found
        .barrier_spans
        .iter()
        .any(|barrier| holds(found.span, *barrier))
    {
        return found.span;
    }
    let functions = context.shader.functions.iter();
    let statements = functions.flat_map(|function| function.body.iter().flatten());
    let loops = statements.filter(|statement| matches!(statement.kind, StmtKind::Loop(_)));
    let mut heads = loops.map(|statement| statement.span);
    let is_step = |head: &Span| found.barrier_spans.iter().any(|barrier| holds(*head, *barrier));
    heads.find(is_step).unwrap_or(found.span)
}

/// Labels for the arrays that the elements pass through, for the barriers, and for the calls, where the construct
/// consists of calls.
pub(crate) fn places(context: &Context<'_>, found: &Collective) -> Vec<Label> {
    let calls = Label {
        place: found.span,
        text: "called here".to_owned(),
    };
    let calls = (head(context, found) != found.span).then_some(calls);
    let arrays = found.arrays.iter().filter_map(|array| context.global(*array));
    let arrays = arrays.filter(|array| !matches!(array.ty, Type::Scalar(_)));
    let is_of = |elements: &Elements, array: &Global| match elements {
        Elements::Array { global, .. } | Elements::Cell { global, .. } | Elements::Spread { global, .. } => {
            context.global(*global).is_some_and(|own| own.span == array.span)
        }
        _ => false,
    };
    let is_only = arrays.clone().nth(1).is_none();
    let arrays = arrays.map(|array| Label {
        place: array.span,
        text: match array.ty {
            Type::Resource(..) => "the elements pass through this buffer".to_owned(),
            _ if is_only || is_of(&found.input, array) || is_of(&found.output, array) => {
                "the elements pass through this array".to_owned()
            }
            _ => "the steps use this array".to_owned(),
        },
    });
    let barriers = found
        .barrier_spans
        .iter()
        .enumerate()
        .map(|(number, span)| Label {
            place: *span,
            text: if number == 0 {
                "every thread waits for the slowest".to_owned()
            } else {
                String::new()
            },
        });
    // All that a macro expands to is at one place, which has room for one label.
    let locate = |place: Span| context.shader.origins.locate(place);
    let of_head = locate(head(context, found));
    let labels = arrays.chain(barriers).chain(calls);
    labels.filter(|label| locate(label.place) != of_head).collect()
}

/// The macro that expands to the construct, if one does.
pub(crate) fn of_macro(context: &Context<'_>, found: &Collective) -> Option<String> {
    let shader = context.shader;
    // The word at the place of a span: for text from a macro, the name of the macro.
    let written = |span: Span| {
        let place = shader.origins.locate(span)?;
        let file = shader.sources.get(place.file)?;
        Some((place, words(file.text.get(place.start as usize..)?).next()?))
    };
    let (place, name) = written(head(context, found))?;
    let (defining, line) = Unit::of(shader).defined(shader, name)?;
    let is_of_it = |barrier: &Span| written(*barrier).is_some_and(|(_, other)| other == name);
    if found.barrier_spans.is_empty() || !found.barrier_spans.iter().all(is_of_it) {
        return None;
    }
    let of_file = if defining == place.file.0 as usize {
        String::new()
    } else {
        let path = &shader.sources.files.get(defining)?.path;
        format!(" of {}", lines::file_name(path))
    };
    let name = String::from_utf8_lossy(name);
    Some(format!(
        "the ladder comes from the macro {name}, defined on line {line}{of_file}"
    ))
}
