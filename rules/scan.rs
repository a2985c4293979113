//! What the rules about scans say of one.

use shaderlint_hlsl::{Global, Span, StmtKind, Type};
use shaderlint_linter::{Context, Finding, Label, Level, NoFix, ShaderModel, Verdict};
use shaderlint_simt::{Access, Amid, Collective, Elements, Half, Instance, Kind, Operator, Race, Shape};

use crate::proof;
use crate::refusal::{self, Refusal};
use crate::unit::{Unit, words};
use crate::{element, lines, wave_form, wave_scan, witness};

/// Of fewer elements there is nothing to gain, as of atomics of fewer threads.
pub(crate) const LEAST: u32 = 4;

/// What `rule` says of the scans that go by `name`, by their shape.
pub(crate) fn findings(
    context: &Context<'_>,
    rule: &'static str,
    name: impl Fn(Shape) -> Option<&'static str>,
) -> Vec<Finding> {
    let collectives = context.analysis.collectives.iter();
    let scans = collectives.filter(|found| found.kind != Kind::Reduction && found.count >= LEAST);
    // A ladder that doubles its reach shows so only where it scans all elements from the first one.
    let shape = |scan: &Collective| match scan.shape {
        Shape::Tree if scan.reversed || scan.segment != scan.count => Shape::Other,
        shape => shape,
    };
    scans
        .filter_map(|scan| finding(context, rule, name(shape(scan))?, scan))
        .collect()
}

/// `None` where the target has no wave intrinsic for the scan that later ones have.
fn finding(context: &Context<'_>, rule: &'static str, shape: &str, scan: &Collective) -> Option<Finding> {
    let needed = needed_model(scan.operator);
    if needed > context.shader_model {
        return None;
    }
    let kind = match (scan.kind == Kind::InclusiveScan, scan.reversed) {
        (true, false) => "inclusive",
        (false, false) => "exclusive",
        (true, true) => "reversed inclusive",
        (false, true) => "reversed exclusive",
    };
    let (proved, why_not) = match wave_form::fix(context, scan) {
        Ok(proved) => (Some(proved), None),
        Err(why_not) => (None, Some(why_not)),
    };
    let mut notes = vec![proof(context, scan)];
    notes.push(if !has_prefix_intrinsic(scan.operator) {
        format!(
            "within a wave the same ladder can read its neighbours by WaveReadLaneAt, without a barrier; it needs shader \
             model {needed}"
        )
    } else if let Some(proved) = &proved {
        wave_form::needs(scan, proved, needed)
    } else {
        let in_one_row = if context.has_rows() {
            let lanes: u32 = context.analysis.group_size.iter().product();
            format!(
                ": make the group {lanes}\u{d7}1\u{d7}1 and work out its coordinates from SV_GroupIndex"
            )
        } else {
            String::new()
        };
        format!(
            "a wave form needs shader model {needed}; one in which each thread scans its own element also needs \
             {}{in_one_row}",
            wave_form::LINEAR
        )
    });
    let fix = proved.map(|proved| proved.fix);
    let is_slower = context.has_rows() && scan.count >= wave_scan::SLOWER_BY_ONE_WAVE;
    if is_slower {
        notes.push(
            "a scan by one wave, which needs nothing of that, took longer than the ladder on an NVIDIA H200: 0.8 times as \
             fast at 1024 elements"
                .to_owned(),
        );
    }
    notes.extend(beside(context, scan));
    notes.extend(alone(context, scan));
    notes.extend(of_macro(context, scan));
    notes.extend(wave_form::of_floats(scan));
    let no_fix = why_not.map(|why_not| match why_not {
        Refusal::NoForm(_) if !has_prefix_intrinsic(scan.operator) => {
            let operator = name(scan.operator);
            let text = format!(
                "no wave form is written for scans by {operator}: there is no prefix intrinsic for {operator}"
            );
            NoFix::new("no-prefix-intrinsic", text)
        }
        Refusal::NoForm(why) if context.has_rows() && why.reason == refusal::NO_FORM => {
            wave_form::no_packing(context, &format!("such a scan of {} elements", scan.count))
        }
        why_not => why_not.no_fix(),
    });
    Some(Finding {
        rule,
        entry: context.entry,
        message: format!("{shape} {kind} scan of {}", elements(context, scan)),
        shape: Some(shape_id(scan)),
        verdict: verdict(scan),
        worth: if is_slower { Level::Info } else { Level::Error },
        primary: Label {
            place: head(context, scan),
            text: effort(scan),
        },
        secondary: places(context, scan),
        notes,
        fix,
        no_fix,
    })
}

/// How many elements of which type.
pub(crate) fn elements(context: &Context<'_>, of: &Collective) -> String {
    let (count, ty) = (of.count, of.element_name());
    let elements = match component(context, of) {
        Some((component, width)) => format!("the {component} of {count} {ty}{width}s"),
        None => format!("{count} {ty}s"),
    };
    match of.half {
        None => elements,
        Some(Half::Low) => format!("the low halves of {elements}"),
        Some(Half::High) => format!("the high halves of {elements}"),
    }
}

/// What else its statements make.
pub(crate) fn beside(context: &Context<'_>, found: &Collective) -> Option<String> {
    let others = found.beside.iter().map(|other| {
        let (what, index) = match found.kind {
            Kind::Reduction => (name(other.operator), ""),
            Kind::InclusiveScan | Kind::ExclusiveScan => ("scan", "i"),
        };
        format!(
            "a {what} in {}",
            element::text(context, found, &other.output, index)
        )
    });
    let others: Vec<String> = others.collect();
    let is_any = !others.is_empty();
    is_any.then(|| format!("the same statements leave {} as well", lines::listed(&others)))
}

/// Of elements that are one component of vectors: which one, and how many there are.
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

/// How the construct goes about it.
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

/// What the construct costs.
pub(crate) fn effort(found: &Collective) -> String {
    let steps = match found.shape {
        Shape::Doubling | Shape::Tree => counted(found.rounds, "round") + ", ",
        // What goes up a tree goes down again.
        Shape::Sweeps => counted(found.rounds, "level") + ", ",
        // How often partial results grew is not how often the loop goes round.
        Shape::Serial | Shape::Other => String::new(),
    };
    format!(
        "{steps}{}{}",
        counted(found.barriers, "barrier"),
        instances(found).replacen(';', ",", 1)
    )
}

/// What people call combining elements by the operator.
pub(crate) fn name(operator: Operator) -> &'static str {
    match operator {
        Operator::Add | Operator::FloatAdd => "sum",
        Operator::Mul | Operator::FloatMul => "product",
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => "min",
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => "max",
        Operator::And => "and",
        Operator::Or => "or",
        Operator::Xor => "xor",
    }
}

fn counted(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Whether any shader model has one.
pub(crate) fn has_prefix_intrinsic(operator: Operator) -> bool {
    !matches!(name(operator), "min" | "max")
}

/// The oldest shader model with what takes the scan's place.
pub(crate) fn needed_model(operator: Operator) -> ShaderModel {
    match operator {
        Operator::And | Operator::Or | Operator::Xor => ShaderModel::MULTI_PREFIX,
        _ => ShaderModel::WAVES,
    }
}

/// What was proved, as a formula.
pub(crate) fn proof(context: &Context<'_>, scan: &Collective) -> String {
    let element = |elements: &Elements, index: &str| {
        let word = element::text(context, scan, elements, index);
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
    let combined = combined(scan.operator, &from, &to);
    let (output, for_all) = if scan.kind == Kind::Reduction {
        (element(&scan.output, ""), String::new())
    } else {
        let for_all = format!(" for all i < {}", scan.count);
        (element(&scan.output, "i"), for_all)
    };
    let afresh = if scan.segment < scan.count {
        format!(", afresh every {} elements", scan.segment)
    } else {
        String::new()
    };
    let up_to = if scan.operator.is_exact() {
        ""
    } else {
        ", up to rounding"
    };
    let needs = proof::of_needs(scan.needs);
    let modulo = if scan.half.is_some() { " modulo 65536" } else { "" };
    let instances = instances(scan);
    let races = context.analysis.races.iter();
    let mut races = races.filter(|race| race.has_part(scan) || is_written_within(context, race, scan));
    // A race that is found for another bound is none for this.
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
            "though the read {} may come meanwhile: no barrier is known to be between",
            witness::on_lines(context, &[read], scan.span)
        ),
        Amid::Barrier(barrier) => format!(
            "though not all inputs are known to lead to {}",
            witness::barrier(context, barrier, scan.span)
        ),
    });
    let (freely, apart) = match (races.clone().next().is_some(), races.all(is_for_others)) {
        (true, true) => (
            "race-free",
            " (another number of passes has a race, which is reported separately)",
        ),
        (true, false) => ("once the race that is reported on its array is gone", ""),
        (false, _) => (amid.as_deref().unwrap_or("race-free"), ""),
    };
    let given = if scan.presumes {
        ", for inputs for which all threads reach its barriers"
    } else {
        ""
    };
    // What is written outside an array may be anywhere in groupshared memory.
    let mut outside = context.analysis.out_of_bounds.iter();
    let within = if outside.any(|found| found.access.is_write) {
        ", once the write out of bounds that is reported is gone"
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

/// Whether an access of a race stands in the text of the construct, be it that of a macro of which it is a part.
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

/// The bounds that it holds for, where it does not for all.
fn instances(found: &Collective) -> String {
    let instances = found.instances.iter().enumerate().map(|(number, instance)| {
        let before = if number == 0 { "; for" } else { "," };
        format!("{before} {} = {}", instance.bound, instance.value)
    });
    instances.collect()
}

/// The elements from one to another combined, in words: what holds the result may have held an element.
pub(crate) fn combined(operator: Operator, from: &str, to: &str) -> String {
    let bitwise = match operator {
        Operator::And | Operator::Or | Operator::Xor => "bitwise ",
        _ => "",
    };
    format!("the {bitwise}{} of {from} \u{2026} {to}", name(operator))
}

/// What has to hold of the other groups, where elements are in resources.
pub(crate) fn alone(context: &Context<'_>, found: &Collective) -> Option<String> {
    let names = found
        .windows
        .iter()
        .filter_map(|extent| context.global(extent.resource));
    let names: Vec<&str> = names.map(|resource| &*resource.name).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" and ");
        format!("holds of a group whose elements of {names} no other group writes meanwhile")
    })
}

/// Where the construct is looked for: itself; or, where it is but calls of functions that hold its steps, the first
/// loop of these that has a barrier.
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

/// The arrays the elements pass through, and the barriers; and the calls, where the construct is made of some.
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
    // What one macro stands for is all at one place, where more than one label is none.
    let locate = |place: Span| context.shader.origins.locate(place);
    let of_head = locate(head(context, found));
    let labels = arrays.chain(barriers).chain(calls);
    labels.filter(|label| locate(label.place) != of_head).collect()
}

/// The macro that the construct comes out of, if it is one.
pub(crate) fn of_macro(context: &Context<'_>, found: &Collective) -> Option<String> {
    let shader = context.shader;
    // What stands where a span is written: of what comes out of a macro, the macro's name.
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
        "it comes out of the macro {name}, defined on line {line}{of_file}"
    ))
}
