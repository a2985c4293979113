//! Every rule over every entry point, once a place.

use std::collections::{HashMap, HashSet};

use memchr::memmem;
use shaderlint_hlsl::{
    Cause, ExprKind, FileSpan, Function, FunctionId, Intrinsic, Problem, Shader, Span, expressions,
};
use shaderlint_simt::{Analysis, analyze};

use crate::finding::{Diagnostic, Finding, Fix, NoFix};
use crate::place;
use crate::reach::reached;
use crate::rule::{Category, Context, Level, Rule, Settings, ShaderModel};
use crate::suppress::{Allowed, OfFiles};

/// D3D allows this many threads in a group (D3D11.3 functional spec, 18.6).
const MAX_THREADS: u128 = 1024;

/// What the rules say of one translation unit.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// In order of file and place; no two of one rule at one place.
    pub findings: Vec<Diagnostic>,
    /// What comments silence, in no order.
    pub allowed: Vec<Allowed>,
    /// Where comments name rules that find something there, under this shader model or another.
    pub used: Vec<FileSpan>,
    /// What kept an entry point from being run at all.
    pub problems: Vec<Problem>,
    /// Where a run had to stop early. What was found before then is in `findings`.
    pub stops: Vec<Problem>,
    /// Kernels with a run that stopped, or that did not follow all accesses to groupshared memory. There may be more to find.
    pub in_part: Vec<String>,
    /// What the runs took, as in [`Analysis`].
    pub work: u64,
}

/// Runs every rule over every entry point.
#[must_use]
pub fn check_shader(shader: &Shader, rules: &[Rule], settings: &Settings) -> Report {
    let mut problems = Vec::new();
    let mut analyses = Vec::new();
    for (entry, function) in shader.entry_points() {
        if (settings.is_stopped)() {
            break;
        }
        let group_size = function.group_size.unwrap_or_default();
        match bad_group_size(group_size) {
            Some(message) => problems.push(Problem::new(
                format!("{message}: `{}` is not analysed", function.name),
                shader.origins.locate(function.group_size_span),
            )),
            None => analyses.push((entry, analyze(shader, entry))),
        }
    }
    Report {
        problems,
        ..check_analyses(shader, &analyses, rules, settings)
    }
}

fn bad_group_size(size: [u32; 3]) -> Option<String> {
    let threads: u128 = size.into_iter().map(u128::from).product();
    match threads {
        0 => Some("a thread group without threads".to_owned()),
        1..=MAX_THREADS => None,
        _ => Some(format!(
            "a thread group of {threads} threads, where D3D allows {MAX_THREADS}"
        )),
    }
}

/// The part after the runs.
fn check_analyses(
    shader: &Shader,
    analyses: &[(FunctionId, Analysis)],
    rules: &[Rule],
    settings: &Settings,
) -> Report {
    let shader_model = settings.shader_model.unwrap_or_else(|| ShaderModel::of(shader));
    let suppressions = OfFiles::of(&shader.sources);
    let mut report = Report::default();
    let mut raw = Vec::new();
    for (entry, analysis) in analyses {
        let context = Context {
            shader,
            entry: *entry,
            analysis,
            shader_model,
            wants_fixes: true,
            form: settings.form,
            suppressions: &suppressions,
            is_stopped: settings.is_stopped,
        };
        // What no compiler takes as it is has no defects when it runs.
        let applies = |rule: &&Rule| !shader.is_refused || rule.category != Category::Correctness;
        let rules = rules.iter().filter(applies);
        for rule in rules.take_while(|_| !(settings.is_stopped)()) {
            let mut findings = Vec::new();
            (rule.check)(&context, &mut findings);
            raw.extend(findings.into_iter().map(|finding| (rule, finding)));
        }
        report.work += analysis.work;
        // What threads race on is not followed either: that is a defect of the kernel, and no gap.
        if analysis.is_right() && (analysis.has_gaps || analysis.stopped.is_some()) {
            report.in_part.extend(
                shader
                    .functions
                    .get(entry.0 as usize)
                    .map(|entry| entry.name.clone()),
            );
        }
        let stops = [
            &analysis.stopped,
            &analysis.claims_stopped,
            &analysis.passes_stopped,
        ];
        let stop = stops.into_iter().flatten().next();
        report.stops.extend(stop.map(|stop| Problem {
            message: stop.reason.clone(),
            place: shader.origins.locate(stop.span),
            cause: Cause::Run,
        }));
    }
    let entries: Vec<FunctionId> = analyses.iter().map(|(entry, _)| *entry).collect();
    keep_fixes_all_entries_agree_on(shader, &entries, &mut raw);
    let is_of_fxc = settings.shader_model.is_none() && ShaderModel::is_of_fxc_in_unity(shader);
    for (rule, mut finding) in raw {
        if is_of_fxc && rule.category == Category::Perf {
            ask_for_dxc(&mut finding);
        }
        let Some(diagnostic) = place::diagnostic(shader, rule, settings, finding) else {
            continue;
        };
        if diagnostic.level == Level::Off {
            continue;
        }
        let place = diagnostic.primary.place;
        if let Some((by, reason)) = suppressions.allowing(rule, place) {
            report.allowed.push(Allowed {
                // Other readings of the text, which have their say in a fix, are asked of findings alone.
                finding: Diagnostic {
                    fix: None,
                    ..diagnostic
                },
                by,
                reason,
            });
            continue;
        }
        let known = report
            .findings
            .iter_mut()
            .find(|other| other.rule == diagnostic.rule && other.primary.place == diagnostic.primary.place);
        match known {
            Some(known) => known.is_also_in(diagnostic),
            None => report.findings.push(diagnostic),
        }
    }
    report
        .findings
        .sort_by_key(|diagnostic| (diagnostic.primary.place.file, diagnostic.primary.place.start));
    report.used = used(shader, analyses, rules, settings, &suppressions);
    report
}

/// Says of a file that Unity compiles by FXC what it takes to have wave intrinsics there. No fix brings them in before.
fn ask_for_dxc(finding: &mut Finding) {
    let text = "for Direct3D, Unity compiles this file by FXC, which has no wave intrinsics, unless `#pragma use_dxc`, a `#pragma require` or the project asks for DXC";
    finding.worth = finding.worth.min(Level::Info);
    if finding.fix.take().is_some() {
        finding.no_fix = Some(NoFix::new("needs-dxc", text));
    } else {
        finding.notes.push(text.to_owned());
    }
}

/// Where comments name rules that find something there. A comment for what is found only under a later shader model
/// has its use, even if this run is about an earlier one.
fn used(
    shader: &Shader,
    analyses: &[(FunctionId, Analysis)],
    rules: &[Rule],
    settings: &Settings,
    suppressions: &OfFiles,
) -> Vec<FileSpan> {
    let mut used = Vec::new();
    if suppressions.is_empty() {
        return used;
    }
    for (entry, analysis) in analyses {
        let context = Context {
            shader,
            entry: *entry,
            analysis,
            shader_model: ShaderModel::NEWEST,
            wants_fixes: false,
            form: settings.form,
            suppressions,
            is_stopped: settings.is_stopped,
        };
        for rule in rules.iter().take_while(|_| !(settings.is_stopped)()) {
            let mut findings = Vec::new();
            (rule.check)(&context, &mut findings);
            let places = findings
                .iter()
                .filter_map(|finding| place::locate(shader, finding.primary.place));
            used.extend(places.filter_map(|place| Some(suppressions.allowing(rule, place)?.0)));
        }
    }
    used
}

/// The name of a function without the namespaces and structs that it is in.
fn unqualified(function: &Function) -> &[u8] {
    let own = function.name.rsplit("::").next();
    own.unwrap_or_default().as_bytes()
}

/// The functions that are there for other libraries, too: `export` stands before a declaration of one of their name.
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

/// A fix in a function that several entry points call, which may be an entry point itself, was proved in the run of one. It stays
/// only if every entry point that gets there came to the same fix, and nobody else may get there: a function that no entry point calls
/// may be one of another stage, or be there for whoever includes the file. One in a template would change what it is for
/// other types too.
fn keep_fixes_all_entries_agree_on(
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
    // A kernel that is looked at in another variant only has its say there.
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
                "hidden-intrinsic",
                format!("the fix calls `{name}`, which is the name of a variable here"),
            );
            finding.withdraw(why.named(name));
        } else if holders.iter().any(is_instance) {
            let text = "this is a template, which may be used with other types";
            finding.withdraw(NoFix::new("template", text));
        } else if holders.iter().any(|holder| has(&of_unseen, *holder)) {
            let text = "text that is not understood names this function, or one that calls it";
            finding.withdraw(NoFix::new("unknown-user", text));
        } else if holders.iter().any(|holder| has(&of_strays, *holder)) {
            let text = "this is also used by a function that no kernel calls";
            finding.withdraw(NoFix::new("uncalled-user", text));
        } else if holders.iter().any(|holder| has(&of_exported, *holder)) {
            let text = "an exported function uses this, which other libraries may call";
            finding.withdraw(NoFix::new("uncalled-user", text));
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
            finding.withdraw(NoFix::new("other-kernel", text).named(other));
        }
    }
}

/// The functions that the text calls where no call of them was understood, as where one is a method of a base that is not
/// known: with which arguments, and for which threads, nobody can tell. Functions of HLSL have no addresses, so behind the name
/// of one that is used, which may be in parentheses, stands another one, or what a template is given.
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
        // From each place on, to the furthest end of what begins there or before.
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
        // `(f)(x)` is a call of `f`, too.
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

/// An intrinsic that a text calls, where its name is that of a variable: which a reader of HLSL looks up first.
fn hidden<'t>(shader: &Shader, holders: &[FunctionId], text: &'t str) -> Option<&'t str> {
    // What comes before a parenthesis ends with what is called, if anything is.
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

#[cfg(test)]
mod tests;
