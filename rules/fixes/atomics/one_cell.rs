//! Wave forms of an atomic: one lane makes it for all active lanes of its wave.
//!
//! # Why they are right
//!
//! First the wave combines the amounts of all lanes (`WaveActiveSum` and its kin, while all are active); then the
//! first active lane makes the atomic. Where each lane wants its old value, it takes the value that this lane found,
//! combined with the amounts of the lanes before it (`WaveReadLaneFirst`, `WavePrefixSum`). The lanes would have
//! found the same one after the other, in the order of their lanes: an order in which the device might have served
//! them. All of these intrinsics concern the *active* lanes, so a form is right in a branch, even one that a single
//! lane takes; and they rely only on the order of these lanes, so it is right for any wave size and whichever threads
//! share a wave. [`ContendedAtomic::parts`] says when the form may replace the call unnoticed; [`serves_alike`] proves
//! of this very text that it does what the call does.

use shaderlint_hlsl::{Scalar, Shader, Span, blank_comments};
use shaderlint_linter::{At, Context, Edit, Fix, FixNote, NoFix, Proof, Reason, Safety, fixed_shader};
use shaderlint_simt::{
    ContendedAtomic, Meanwhile, NotCombined, OldValueUse, Operator, Parts, Quantity, serves_alike,
};

use crate::describe::{claim, witness};
use crate::fixes::atomics::known_proofs::Subject;
use crate::fixes::too_long;
use crate::source::configuration::{AS_CONFIGURED, Replacement, holds_in_all};
use crate::source::names::{free, is_seen_from};
use crate::source::text::on_one_line;
use crate::source::unit::{MAX_TEXT, Unit};
use crate::source::words::words;

/// The most atomics of an entry point to prove forms for.
const MAX_PROOFS: usize = 32;

/// The parts of a call as text, of the file or expanded.
pub(crate) struct Texts {
    pub object: Option<String>,
    pub place: String,
    pub amount: String,
    pub old: Option<String>,
}

/// A form that is proved to do what the claim's call does on one cell, or why there is none.
pub(crate) fn fix(context: &Context<'_>, claim: &ContendedAtomic) -> Result<Fix, NoFix> {
    let shader = context.shader;
    if let Some(name) = claim
        .assumed_uniform
        .first()
        .filter(|_| !claim.operation.is_of_hidden_counter())
    {
        let text = format!("unknown name `{name}`: pass -D or -I");
        return Err(NoFix::new(Reason::Undeclared, text).named(name));
    }
    let races = &context.analysis.races;
    if !races.is_empty() {
        let array = claim.parts.as_ref().ok().and_then(|parts| parts.array);
        return Err(if races.iter().any(|race| Some(race.array) == array) {
            let counters = claim::counters(context, claim);
            NoFix::new(
                Reason::Race,
                format!("the kernel has a data race on {counters}, which is reported"),
            )
            .named(counters)
        } else {
            NoFix::new(Reason::Race, "the kernel has a data race, which is reported")
        });
    }
    let parts = claim
        .parts
        .as_ref()
        .map_err(|why| not_combined(context, claim, *why))?;
    // A lane that acts for others does not wait for their plain accesses to the cell.
    if claim.is_shared && claim.meanwhile != Meanwhile::Atomics {
        return Err(of_meanwhile(context, claim));
    }
    let before = context
        .analysis
        .contended_atomics
        .iter()
        .take_while(|other| *other != claim);
    let proofs = before.count() + 1;
    if proofs > MAX_PROOFS || shader.text.len().saturating_mul(proofs) > MAX_TEXT {
        return Err(too_long());
    }
    let written = texts_of_file(shader, parts).ok_or_else(|| {
        let spans = [parts.object, Some(parts.place), Some(parts.amount), parts.old];
        let mut spans = spans.into_iter().flatten();
        let of_macro = spans.any(|span| shader.origins.is_cut_from_macro(span));
        if of_macro { of_macro_text() } else { not_plain() }
    })?;
    let expanded = texts(parts, |span| {
        Some(String::from_utf8_lossy(span.slice(&shader.text)).into_owned())
    });
    let expanded = expanded.ok_or_else(not_plain)?;
    let name = |wanted: &str| free_name(shader, claim, wanted);
    let has_block = parts.is_alone && begins_its_line(shader, parts.statement);
    let block = form(parts, &written, has_block, &name);
    let expanded = form(parts, &expanded, has_block, &name);
    if let Some(why) = may_change(shader, claim, parts, &name) {
        return Err(why);
    }
    let replacement = Replacement {
        function: claim.function,
        over: parts.statement,
        form: &block,
        adds_memory: false,
    };
    let safety = if holds_in_all(shader, context.entry, &replacement) {
        Safety::Safe
    } else {
        Safety::Unsafe
    };
    let fix = Fix {
        title: "make one atomic for each wave".to_owned(),
        safety,
        proof: Some(Proof::new(proof(claim), Vec::new())),
        notes: Vec::new(),
        edits: vec![Edit {
            is_block: !has_block,
            expanded: Some(expanded.clone()),
            ..Edit::new(At::Over(parts.statement), block)
        }],
        other_form: None,
    };
    let not_proved = |what: String| {
        let text = format!("could not prove that the wave form does the same: {what}");
        NoFix::new(Reason::NotProved, text)
    };
    let subject = Subject::of(shader, claim, parts, &expanded);
    if !subject.is_some_and(Subject::is_proved) {
        let fixed = fixed_shader(shader, context.entry, &fix.edits);
        let (fixed, _) = fixed
            .ok_or_else(|| not_proved("the fixed file no longer parses as the same kernel".to_owned()))?;
        serves_alike(shader, claim, &fixed).map_err(not_proved)?;
        if let Some(subject) = subject {
            subject.note_proof();
        }
    }
    Ok(fix)
}

/// Why one lane cannot make the atomic for its wave: plain accesses may race with it.
fn of_meanwhile(context: &Context<'_>, claim: &ContendedAtomic) -> NoFix {
    let counters = claim::counters(context, claim);
    let stop = context.analysis.stopped.as_ref();
    match (claim.meanwhile, stop) {
        (Meanwhile::Plain(Some(place)), _) => {
            let at = witness::on_lines(context, &[place], claim.span);
            let text = format!("the access to {counters} {at} may race with the atomic");
            NoFix::new(Reason::Race, text).named(counters).at(place)
        }
        (Meanwhile::Plain(None), _) => {
            let text = format!(
                "accesses to {counters} in statements that shaderlint cannot follow may race with the \
                 atomic"
            );
            NoFix::new(Reason::Race, text).named(counters)
        }
        (Meanwhile::Unknown, Some(stop)) => {
            let at = witness::on_lines(context, &[stop.span], claim.span);
            let text = format!(
                "shaderlint cannot follow the kernel past the code {at}, so other accesses to {counters} may \
                 race with the atomic"
            );
            NoFix::new(Reason::Unfollowed, text).named(counters).at(stop.span)
        }
        (Meanwhile::Unreached(barrier), _) => {
            let barrier_at = witness::barrier(context, barrier, claim.span);
            let text = format!(
                "some threads may not reach {barrier_at}, so other accesses to {counters} may race with \
                 the atomic"
            );
            NoFix::new(Reason::Unfollowed, text).named(counters).at(barrier)
        }
        _ => {
            let text = format!(
                "shaderlint cannot tell which barriers come before and after the atomic, so other accesses to \
                 {counters} may race with it"
            );
            NoFix::new(Reason::Unfollowed, text).named(counters)
        }
    }
}

/// Why one lane cannot make the atomic for its wave.
fn not_combined(context: &Context<'_>, claim: &ContendedAtomic, why: NotCombined) -> NoFix {
    if claim.operation.is_of_hidden_counter() {
        let text = "each call moves a hidden counter by one, and only a counter in a buffer can move by more";
        return NoFix::new(Reason::HiddenCounter, text);
    }
    let of_old_value = || {
        let text = "could not prove that the kernel uses the atomic's old value only as a slot's index";
        NoFix::new(Reason::OldValue, text)
    };
    if claim.old_value == OldValueUse::Otherwise {
        return of_old_value();
    }
    let lines = |place: Span| witness::on_lines(context, &[place], claim.span);
    match why {
        NotCombined::Unfollowed => {
            let text = "in some runs, shaderlint could not follow the kernel to its end or find the address of this \
                 atomic";
            NoFix::new(Reason::Unfollowed, text)
        }
        NotCombined::NotAStatement => {
            NoFix::new(Reason::NotAStatement, "the call is not a statement of its own").at(claim.span)
        }
        NotCombined::Type => {
            let text = "shaderlint writes wave forms only for counters and amounts that are both int or \
                 both uint";
            NoFix::new(Reason::Type, text)
        }
        NotCombined::Operator => NoFix::new(
            Reason::NoForm,
            "shaderlint writes no wave form for this operation",
        ),
        NotCombined::OldValue => of_old_value(),
        NotCombined::Cell => {
            let counter = claim::counter(context, claim);
            let text = format!(
                "shaderlint cannot prove that {counter} names one cell in every iteration and \
                 call"
            );
            NoFix::new(Reason::Counter, text).named(counter).at(claim.place)
        }
        NotCombined::Alias => {
            let counters = claim::counters(context, claim);
            let text = format!(
                "{counters} is a variable here, and shaderlint cannot follow what else uses its buffer"
            );
            NoFix::new(Reason::Alias, text).named(counters).at(claim.place)
        }
        NotCombined::MemoryBarrier(place) => {
            let at = lines(place);
            let text =
                format!("the memory barrier {at} may let a thread observe at what time its atomic is made");
            NoFix::new(Reason::MemoryBarrier, text).at(place)
        }
        NotCombined::OtherAtomic(place) => {
            let (counters, at) = (claim::counters(context, claim), lines(place));
            let text = format!("another kind of atomic changes {counters} {at}");
            NoFix::new(Reason::OtherAtomic, text).named(counters).at(place)
        }
        NotCombined::OtherResult(place) => {
            let (counters, at) = (claim::counters(context, claim), lines(place));
            let text = format!("another atomic on {counters} returns its old value {at}");
            NoFix::new(Reason::OtherResult, text).named(counters).at(place)
        }
        NotCombined::OtherUse(place) => {
            let (counters, at) = (claim::counters(context, claim), lines(place));
            let text = format!(
                "{counters} is also used {at}, and a thread may observe whether that use or the atomic comes first"
            );
            NoFix::new(Reason::OtherUse, text).named(counters).at(place)
        }
    }
}

/// Why there is no fix for a call that a macro spells.
fn of_macro_text() -> NoFix {
    NoFix::new(Reason::InMacro, "part of the call comes from a macro")
}

fn not_plain() -> NoFix {
    let text = "part of the call is a comment, or is in another file";
    NoFix::new(Reason::NotAsWritten, text)
}

/// What is proved of a form.
fn proof(claim: &ContendedAtomic) -> &'static str {
    match claim.old_value {
        OldValueUse::Slot => {
            "the wave form is proved: whichever lanes are active, each gets a slot that the atomics could \
             have given it, no slot is left out, and the counter ends with the same value"
        }
        _ => "the wave form is proved: whichever lanes are active, the cell ends with the same value",
    }
}

/// Why a fix is unsafe, if it is.
pub(crate) fn doubt(fix: &Fix) -> Option<FixNote> {
    (fix.safety == Safety::Unsafe).then(|| AS_CONFIGURED.into())
}

/// Whether a statement is the first on its line.
fn begins_its_line(shader: &Shader, statement: Span) -> bool {
    let place = shader.origins.editable(statement);
    let before = place.and_then(|place| shader.sources.get(place.file)?.text.get(..place.start as usize));
    let line = before.unwrap_or_default().rsplit(|byte| *byte == b'\n').next();
    line.is_some_and(|line| line.trim_ascii().is_empty())
}

/// The wave form, with free names; with `has_block` it may stand without braces.
fn form(parts: &Parts, texts: &Texts, has_block: bool, name: &dyn Fn(&str) -> String) -> String {
    let Texts {
        object,
        place,
        amount,
        old,
    } = texts;
    let ty = parts.cell.name();
    let mut lines = vec![match old {
        Some(_) => "// The first active lane claims for its wave.".to_owned(),
        None => "// One atomic for each wave.".to_owned(),
    }];
    // A number times the count of lanes that add it.
    let times = |count: &str| match amount.as_str() {
        "1" | "1u" | "1U" => count.to_owned(),
        figures if figures.starts_with('-') => format!("{figures} * int({count})"),
        figures if figures.bytes().all(|byte| byte.is_ascii_alphanumeric()) => format!("{figures} * {count}"),
        constant => format!("({constant}) * {count}"),
    };
    let is_counted = parts.quantity == Quantity::Figures && parts.operator == Operator::Add;
    let is_said_twice = old.is_some() && parts.quantity == Quantity::Expression;
    let is_cast = !is_said_twice && is_literal(amount) && !is_counted;
    let own = if is_said_twice {
        let own = name("waveOwn");
        lines.push(format!("{ty} {own} = {amount};"));
        own
    } else if is_cast {
        // With a literal, wave intrinsics have overloads for 64 bits, which not every device has.
        format!("{ty}({amount})")
    } else {
        amount.clone()
    };
    let total = match parts.operator {
        Operator::Add if is_counted => times("WaveActiveCountBits(true)"),
        Operator::Add => format!("WaveActiveSum({own})"),
        // These have overloads for `uint` only, and convert nothing. Compilers and the language disagree on which
        // expressions are `uint`: enumerators, `true`, conditions on literals, `reversebits` of an `int`.
        operator => {
            let operand = if is_cast && parts.cell == Scalar::Uint {
                own.clone()
            } else {
                format!("uint({own})")
            };
            match operator {
                Operator::And => format!("WaveActiveBitAnd({operand})"),
                Operator::Or => format!("WaveActiveBitOr({operand})"),
                _ => format!("WaveActiveBitXor({operand})"),
            }
        }
    };
    let combined = name("waveTotal");
    lines.push(format!("{ty} {combined} = {total};"));
    let call = |last: &str| match object {
        Some(object) => format!("{object}.{}({place}, {combined}{last});", parts.name),
        None => format!("{}({place}, {combined}{last});", parts.name),
    };
    match old {
        None => lines.extend(["if (WaveIsFirstLane())".to_owned(), format!("    {}", call(""))]),
        Some(old) => {
            let first = name("waveFirst");
            let count = "WavePrefixCountBits(true)";
            let before = match amount.as_str() {
                _ if !is_counted => format!("+ WavePrefixSum({own})"),
                "-1" => format!("- {count}"),
                _ => format!("+ {}", times(count)),
            };
            lines.extend([
                format!("{ty} {first} = 0;"),
                "if (WaveIsFirstLane())".to_owned(),
                format!("    {}", call(&format!(", {first}"))),
                format!("{old} = WaveReadLaneFirst({first}) {before};"),
            ]);
        }
    }
    if has_block {
        return lines.join("\n");
    }
    format!("{{\n    {}\n}}", lines.join("\n    "))
}

/// The parts as the file spells them.
pub(crate) fn texts_of_file(shader: &Shader, parts: &Parts) -> Option<Texts> {
    texts(parts, |span| on_one_line(shader, span))
}

/// The text of the file around a part of a place.
pub(crate) fn around(shader: &Shader, place: Span, part: Span) -> Option<(String, String)> {
    let text = |start: u32, end: u32| on_one_line(shader, Span { start, end });
    Some((text(place.start, part.start)?, text(part.end, place.end)?))
}

/// A name that is free where the claim's call is, and is not in the call.
pub(crate) fn free_name(shader: &Shader, claim: &ContendedAtomic, wanted: &str) -> String {
    free(wanted, |name| {
        let parts = claim.parts.as_ref();
        let statement = parts.map_or(&[][..], |parts| parts.statement.slice(&shader.text));
        words(statement).any(|word| word == name.as_bytes()) || is_declared(shader, claim, name)
    })
}

fn texts(parts: &Parts, text: impl Fn(Span) -> Option<String>) -> Option<Texts> {
    let maybe = |span: Option<Span>| match span {
        None => Some(None),
        Some(span) => text(span).map(Some),
    };
    Some(Texts {
        object: maybe(parts.object)?,
        place: text(parts.place)?,
        amount: text(parts.amount)?,
        old: maybe(parts.old)?,
    })
}

/// Whether a name in the form would mean something else in its place.
fn is_declared(shader: &Shader, claim: &ContendedAtomic, name: &str) -> bool {
    let function = shader.functions.get(claim.function.0 as usize);
    let statement = claim.parts.as_ref().map_or(claim.span, |parts| parts.statement);
    let locals = function.into_iter().flat_map(|function| &function.locals);
    let locals = locals.filter(|local| is_seen_from(shader, local, statement));
    Unit::of(shader).is_macro_or_template(name.as_bytes())
        || locals.into_iter().any(|local| local.name == name)
        || shader.globals.iter().any(|global| global.own_name() == name)
        || shader.functions.iter().any(|function| function.name == name)
}

/// Why the text of the form in the file may not be the proved text, which is expanded: a word that the form adds is a
/// macro.
fn may_change(
    shader: &Shader,
    claim: &ContendedAtomic,
    parts: &Parts,
    name: &dyn Fn(&str) -> String,
) -> Option<NoFix> {
    let nothing = |span: Option<Span>| span.map(|_| String::new());
    let own = Texts {
        object: nothing(parts.object),
        place: String::new(),
        amount: String::new(),
        old: nothing(parts.old),
    };
    let unit = Unit::of(shader);
    let form = form(parts, &own, true, name);
    unit.may_change(shader, claim.function, words(&blank_comments(form.as_bytes())))
}

/// Whether a value is one literal, or a choice between literals.
fn is_literal(value: &str) -> bool {
    let chosen = value.split_once('?').map_or(value, |(_, chosen)| chosen);
    words(chosen.as_bytes()).all(|word| word.first().is_some_and(u8::is_ascii_digit))
}
