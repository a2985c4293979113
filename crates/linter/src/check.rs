//! Runs every rule over every entry point, and keeps one finding for each place.

use shaderlint_hlsl::{Cause, FileSpan, FunctionId, MAX_THREADS, Problem, Shader, is_group_size, threads_in};
use shaderlint_simt::{Analysis, analyze};

use crate::diagnose::diagnostic;
use crate::finding::{Diagnostic, Finding};
use crate::level::{Category, Level};
use crate::no_fix::{NoFix, Reason};
use crate::place::locate;
use crate::rule::{Context, Rule, Settings};
use crate::shader_model::ShaderModel;
use crate::shared_fixes::keep_fixes_all_entries_agree_on;
use crate::suppress::SuppressionIndex;

/// What the rules report about one translation unit.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// In order of file and place; one for each rule and place.
    pub findings: Vec<Diagnostic>,
    /// The findings that comments silence, in no order.
    pub allowed: Vec<Allowed>,
    /// The places where comments name rules that find something there, under this shader model or a later one.
    pub used: Vec<FileSpan>,
    /// Why an entry point was not run at all.
    pub problems: Vec<Problem>,
    /// Where a run stopped early. `findings` has what it found before.
    pub stops: Vec<Problem>,
    /// The kernels with a run that stopped, or that did not follow all accesses to groupshared memory: there may be
    /// more to find.
    pub partial_kernels: Vec<String>,
    /// The cost of the runs, as in [`Analysis`].
    pub work: u64,
}

/// A silenced finding.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Allowed {
    pub finding: Diagnostic,
    /// The place where the comment names the rule.
    pub by: FileSpan,
    /// The reason in the comment; may be empty.
    pub reason: String,
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
                format!("{message}: shaderlint does not analyse `{}`", function.name),
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
    match threads_in(size) {
        _ if is_group_size(size) => None,
        0 => Some("the thread group has no threads".to_owned()),
        threads => Some(format!(
            "the thread group has {threads} threads, but D3D allows at most {MAX_THREADS}"
        )),
    }
}

/// Runs the rules after the kernels have run.
fn check_analyses(
    shader: &Shader,
    analyses: &[(FunctionId, Analysis)],
    rules: &[Rule],
    settings: &Settings,
) -> Report {
    let shader_model = settings.shader_model.unwrap_or_else(|| ShaderModel::of(shader));
    let suppressions = SuppressionIndex::of(&shader.sources);
    let mut report = Report::default();
    let mut raw = Vec::new();
    for (entry, analysis) in analyses {
        let context = Context {
            shader,
            entry: *entry,
            analysis,
            shader_model,
            is_shown: true,
            form: settings.form,
            suppressions: &suppressions,
            is_stopped: settings.is_stopped,
        };
        for rule in rules.iter().take_while(|_| !(settings.is_stopped)()) {
            // Code that no compiler accepts has no defects at run time.
            let is_shown = !shader.is_refused || rule.category != Category::Correctness;
            if !is_shown && suppressions.is_empty() {
                continue;
            }
            let context = Context { is_shown, ..context };
            let mut findings = Vec::new();
            (rule.check)(&context, &mut findings);
            report.used.extend(findings.iter().filter_map(|finding| {
                let place = locate(shader, finding.primary.place).filter(|_| !suppressions.is_empty())?;
                Some(suppressions.allowing(|id| rule.is_named(id), place)?.0)
            }));
            findings.retain(|finding| context.shows(finding.needs));
            raw.extend(findings.into_iter().map(|finding| (rule, finding)));
        }
        report.work += analysis.work;
        // Racing accesses are not followed either: that is a defect of the kernel, not a gap.
        if analysis.is_right() && (analysis.has_gaps || analysis.stopped.is_some()) {
            report.partial_kernels.extend(
                shader
                    .functions
                    .get(entry.0 as usize)
                    .map(|entry| entry.name.clone()),
            );
        }
        let stops = [
            &analysis.stopped,
            &analysis.atomics_stopped,
            &analysis.assumed_bounds_stopped,
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
        let Some(diagnostic) = diagnostic(shader, rule, settings, finding) else {
            continue;
        };
        if diagnostic.level == Level::Off {
            continue;
        }
        let place = diagnostic.primary.place;
        if let Some((by, reason)) = suppressions.allowing(|id| rule.is_named(id), place) {
            report.allowed.push(Allowed {
                // Other readings of the text may withdraw a fix, but not a silenced finding.
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
            Some(known) => known.merge(diagnostic),
            None => report.findings.push(diagnostic),
        }
    }
    report
        .findings
        .sort_by_key(|diagnostic| (diagnostic.primary.place.file, diagnostic.primary.place.start));
    report
}

/// Notes on a file that Unity compiles by FXC how to get wave intrinsics there, and withdraws the fix: until then
/// they do not compile.
fn ask_for_dxc(finding: &mut Finding) {
    let text = "for Direct3D, Unity compiles this file with FXC, which has no wave intrinsics, unless \
         `#pragma use_dxc`, a `#pragma require` or the project asks for DXC";
    finding.worth = finding.worth.min(Level::Info);
    if finding.fix.take().is_some() {
        finding.no_fix = Some(NoFix::new(Reason::NeedsDxc, text));
    } else {
        finding.notes.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests;
