//! Fixes in functions that several entry points reach.

use std::collections::{HashMap, HashSet};

use memchr::memmem;
use shaderlint_hlsl::{ExprKind, Function, FunctionId, Intrinsic, Shader, Span, expressions};

use crate::finding::{Finding, Fix};
use crate::no_fix::{NoFix, Reason};
use crate::reach::reached;
use crate::rule::Rule;

/// Withdraws fixes in shared functions that are not proved for every caller. A fix was proved in the run of one entry
/// point. It stays only if every entry point that reaches the function has the same fix, and nobody else may reach
/// it: a function that no entry point calls may belong to another stage, or to files that include this one. A fix in
/// a template would change it for other types too.
pub(crate) fn keep_fixes_all_entries_agree_on(
    shader: &Shader,
    entries: &[FunctionId],
    findings: &mut [(&Rule, Finding)],
) {
    if findings.iter().all(|(_, finding)| finding.fix.is_none()) {
        return;
    }
    let of_entries: Vec<(FunctionId, Vec<bool>)> = entries
        .iter()
        .map(|entry| (*entry, reached(shader, [*entry])))
        .collect();
    let has = |reached: &[bool], function: FunctionId| reached.get(function.0 as usize) == Some(&true);
    let functions = (0u32..).map(FunctionId).zip(&shader.functions);
    // A kernel that belongs to another variant counts only there.
    let strays = functions.filter_map(|(id, function)| {
        let is_called = of_entries.iter().any(|(_, reached)| has(reached, id));
        (!is_called && function.group_size_span == Span::default()).then_some(id)
    });
    let of_strays = reached(shader, strays);
    let of_exported = reached(shader, exported(shader));
    let of_unseen = reached(shader, called_unseen(shader));
    for (_, finding) in &mut *findings {
        let Some(fix) = &finding.fix else { continue };
        let holders: Vec<FunctionId> = edited(shader, fix).collect();
        let is_instance = |holder: &FunctionId| {
            let holder = shader.functions.get(holder.0 as usize);
            holder.is_some_and(|holder| holder.is_instance)
        };
        let hidden = fix
            .edits
            .iter()
            .find_map(|edit| hidden(shader, &holders, &edit.text));
        if let Some(name) = hidden {
            let why = NoFix::new(
                Reason::HiddenIntrinsic,
                format!("the fix calls `{name}`, which names a variable here"),
            );
            finding.withdraw(why.named(name));
        } else if holders.iter().any(is_instance) {
            let text = "this function is a template, which other code may use with other types";
            finding.withdraw(NoFix::new(Reason::Template, text));
        } else if holders.iter().any(|holder| has(&of_unseen, *holder)) {
            let text = "code that shaderlint does not understand names this function, or one that calls it";
            finding.withdraw(NoFix::new(Reason::UnknownUser, text));
        } else if holders.iter().any(|holder| has(&of_strays, *holder)) {
            let text = "a function that no kernel calls also uses this code";
            finding.withdraw(NoFix::new(Reason::UncalledUser, text));
        } else if holders.iter().any(|holder| has(&of_exported, *holder)) {
            let text = "an exported function, which other libraries may call, uses this code";
            finding.withdraw(NoFix::new(Reason::UncalledUser, text));
        }
    }
    let mut contested = Vec::new();
    for (number, (rule, finding)) in findings.iter().enumerate() {
        let Some(fix) = &finding.fix else { continue };
        let agrees = |entry: FunctionId| {
            let mut others = findings.iter();
            others.any(|(other_rule, other)| {
                other.entry == entry && other_rule.id == rule.id && other.fix.as_ref() == Some(fix)
            })
        };
        let holders: Vec<FunctionId> = edited(shader, fix).collect();
        let other = of_entries.iter().find(|(entry, reached)| {
            *entry != finding.entry && !agrees(*entry) && holders.iter().any(|holder| has(reached, *holder))
        });
        if let Some((other, _)) = other {
            contested.push((number, *other));
        }
    }
    for (number, other) in contested {
        let other = shader.functions.get(other.0 as usize);
        let other = other.map_or("another entry point", |other| &other.name);
        if let Some((_, finding)) = findings.get_mut(number) {
            let text = format!("the fix is not proved for {other}, which calls this function too");
            finding.withdraw(NoFix::new(Reason::OtherKernel, text).named(other));
        }
    }
}

/// The functions with a call that was not understood, such as a call of a method of an unknown base: nobody knows its
/// arguments and threads. Functions of HLSL have no addresses, so a use of a name, perhaps in parentheses, has `(` or
/// the arguments of a template behind it.
fn called_unseen(shader: &Shader) -> Vec<FunctionId> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut known: HashMap<&[u8], Vec<Span>> = HashMap::new();
    for function in &shader.functions {
        known
            .entry(unqualified(function))
            .or_default()
            .push(function.name_span);
    }
    let bodies = shader
        .functions
        .iter()
        .filter_map(|function| function.body.as_deref());
    for expr in bodies.flat_map(expressions) {
        if let ExprKind::Call(called, _) = expr.kind
            && let Some(called) = shader.functions.get(called.0 as usize)
        {
            known.entry(unqualified(called)).or_default().push(expr.span);
        }
    }
    for spans in known.values_mut() {
        // The furthest end of all spans that begin at a place or before.
        spans.sort_unstable_by_key(|span| span.start);
        let mut furthest = 0;
        for span in spans {
            furthest = furthest.max(span.end);
            span.end = furthest;
        }
    }
    let mut called: HashSet<&[u8]> = HashSet::new();
    let mut end = 0;
    for word in shader.text.chunk_by(|one, next| is_part(one) == is_part(next)) {
        let at = end;
        end += word.len();
        let Some(known) = known.get(word) else { continue };
        let (before, _) = shader.text.split_at(at);
        let behind = shader.text.get(end..).unwrap_or_default();
        // `(f)(x)` is a call of `f` too.
        let mut behind = behind
            .iter()
            .skip_while(|byte| byte.is_ascii_whitespace() || **byte == b')');
        let is_followed = matches!(behind.next(), Some(b'(' | b'<'));
        // A declaration has a type before the name.
        let before = before.trim_ascii_end();
        let before = before.rsplit(|byte| !is_part(byte)).next();
        let is_declared = !matches!(before, None | Some(b"" | b"return" | b"else" | b"do"));
        let begun = known.partition_point(|span| span.start as usize <= at);
        let is_known = known.get(..begun).and_then(<[Span]>::last);
        let is_known = is_known.is_some_and(|span| at < span.end as usize);
        if is_followed && !is_declared && !is_known {
            called.insert(word);
        }
    }
    let functions = (0u32..).map(FunctionId).zip(&shader.functions);
    let called = functions.filter(|(_, function)| called.contains(unqualified(function)));
    called.map(|(id, _)| id).collect()
}

/// An intrinsic that a text calls by a name that a variable hides.
fn hidden<'t>(shader: &Shader, holders: &[FunctionId], text: &'t str) -> Option<&'t str> {
    // The text before a parenthesis ends with the name of the callee, if there is one.
    let before = text.match_indices('(').filter_map(|(at, _)| text.get(..at));
    let called = before.filter_map(|before| {
        let before = before.trim_end();
        before
            .rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .next()
    });
    let mut intrinsics = called.filter(|word| Intrinsic::from_name(word).is_some());
    let holders = holders
        .iter()
        .filter_map(|holder| shader.functions.get(holder.0 as usize));
    intrinsics.find(|word| {
        let mut locals = holders.clone().flat_map(|holder| &holder.locals);
        let mut globals = shader.globals.iter();
        locals.any(|local| local.name == *word) || globals.any(|global| global.own_name() == *word)
    })
}

/// The functions that a fix edits.
fn edited<'f>(shader: &'f Shader, fix: &'f Fix) -> impl Iterator<Item = FunctionId> + 'f {
    fix.edits
        .iter()
        .filter_map(|edit| function_at(shader, edit.at.span()))
}

/// The function whose text holds `span`.
fn function_at(shader: &Shader, span: Span) -> Option<FunctionId> {
    let holds = |function: Span| function.start <= span.start && span.end <= function.end;
    (0u32..)
        .zip(&shader.functions)
        .find(|(_, function)| holds(function.span))
        .map(|(index, _)| FunctionId(index))
}

/// The name of a function without its namespaces and structs.
fn unqualified(function: &Function) -> &[u8] {
    let own = function.name.rsplit("::").next();
    own.unwrap_or_default().as_bytes()
}

/// The functions that other libraries may call: `export` precedes a declaration of their name.
fn exported(shader: &Shader) -> impl Iterator<Item = FunctionId> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let names: Vec<&[u8]> = memmem::find_iter(&shader.text, b"export")
        .filter_map(|at| {
            let behind = shader.text.get(at..)?.split(|byte| *byte == b'(').next()?;
            behind.split(|byte| !is_part(byte)).rfind(|word| !word.is_empty())
        })
        .collect();
    let functions = (0u32..).map(FunctionId).zip(&shader.functions);
    functions.filter_map(move |(id, function)| names.contains(&unqualified(function)).then_some(id))
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::NoIncludes;

    use super::*;

    fn shader(text: &str) -> Shader {
        shaderlint_hlsl::read("a.hlsl", text.as_bytes(), &[], &NoIncludes).0
    }

    #[test]
    fn a_fix_calls_no_intrinsic_whose_name_a_variable_has() {
        let holder = [FunctionId(0)];
        let sum = "x = WaveActiveSum(1);";
        assert_eq!(
            hidden(&shader("void a(uint WaveActiveSum) {}"), &holder, sum),
            Some("WaveActiveSum")
        );
        assert_eq!(
            hidden(&shader("static uint WaveActiveSum; void a() {}"), &holder, sum),
            Some("WaveActiveSum")
        );
        assert_eq!(
            hidden(
                &shader("void a(uint sum) {} void b(uint WaveActiveSum) {}"),
                &holder,
                sum
            ),
            None
        );
        // A variable of the kernel itself, as in `InterlockedAdd(Counter[0], 1, dst);`.
        let claim = "InterlockedAdd(Counter[0], waveTotal, dst);";
        assert_eq!(hidden(&shader("void a(uint dst) {}"), &holder, claim), None);
    }
}
