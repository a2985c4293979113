//! The kernels to compare: a flagged one with its fix, or any two.

use std::cell::Cell;

use anyhow::Result;
use shaderlint_hlsl::{ExprKind, FileSpan, FunctionId, Shader, Span, Stmt, StmtKind};
use shaderlint_linter::{Category, Diagnostic, Settings, Verdict, check_shader, settle};
use shaderlint_rules::RULES;

use super::evidence::FindingLine;
use crate::commands::kernel;
use crate::support::definition::Define;
use crate::support::source_text::SourceTexts;
use crate::workspace::project_file::{ProjectFile, TranslationUnit};

/// Two kernels that should do the same.
pub(super) struct Pair {
    pub name: String,
    /// The name of the second one in messages.
    pub other: String,
    pub flagged: FunctionId,
    pub fixed: FunctionId,
    /// `numthreads`.
    pub group: [u32; 3],
    /// The findings in the kernel.
    pub findings: Vec<FindingLine>,
    /// The flagged kernel with aggregated atomics, if that is part of the fix.
    pub refined: Option<Refined>,
}

/// A kernel after the fixes that refine it and before the others. When it was offered, each fix was proved by itself.
pub(super) struct Refined {
    pub shader: Shader,
    pub entry: FunctionId,
    /// There are no other fixes.
    pub is_all: bool,
}

impl Pair {
    /// The group has several rows.
    pub fn has_rows(&self) -> bool {
        let [_, y, z] = self.group;
        y > 1 || z > 1
    }
}

/// The pair of a kernel and one of another file.
pub(super) fn other_file(
    entry: Option<&str>,
    flagged: &TranslationUnit,
    other: &TranslationUnit,
) -> Result<Pair> {
    let path = kernel::path(flagged);
    let first = kernel::entry(&flagged.shader, path, entry)?;
    let other_path = kernel::path(other);
    // The kernel of the same name, otherwise the only one.
    let name = name_of(&flagged.shader, first);
    let second = kernel::entry(&other.shader, other_path, Some(&name))
        .or_else(|error| kernel::entry(&other.shader, other_path, None).map_err(|_| error))?;
    Ok(Pair {
        other: name_of(&other.shader, second),
        name,
        flagged: first,
        fixed: second,
        group: group_size(&flagged.shader, first),
        findings: Vec::new(),
        refined: None,
    })
}

/// A file after all fixes that preserve results.
pub(super) struct FixedFile {
    pub unit: TranslationUnit,
    pub text: Vec<u8>,
    /// The kernels that changed.
    pub pairs: Vec<Pair>,
    /// The number of fixes that repair a defect. They are not made: a wrong kernel has no results to compare with.
    pub mending: usize,
}

/// Makes the fixes of the file under these definitions, and reads the result under them. `flagged` is the file as
/// read under the same definitions.
pub(super) fn fixed_file(
    entry: Option<&str>,
    file: &ProjectFile,
    flagged: &TranslationUnit,
    defines: &[Define],
) -> FixedFile {
    let unit = |text: &[u8]| file.unit_under(text, defines);
    // A wrong kernel has no meaning to compare with.
    let is_right = |finding: &Diagnostic| finding.category == Category::Perf;
    let settings = Settings {
        shader_model: file.project.profile,
        form: file.project.form,
        ..Settings::default()
    };
    let check = |text: &[u8]| check_shader(&unit(text).shader, RULES, &settings).findings;
    let find = |text: &[u8]| check(text).into_iter().filter(is_right).collect::<Vec<_>>();
    let is_refined = |finding: &Diagnostic| finding.verdict == Verdict::Refines;
    let refines = Cell::new(false);
    let note_refined = |text: &[u8]| {
        let findings = find(text);
        let has_fix = |finding: &Diagnostic| is_refined(finding) && finding.fix.is_some();
        refines.set(refines.get() || findings.iter().any(has_fix));
        findings
    };
    let mut settled = settle(&file.text, true, note_refined, |findings| findings);
    let mut refined_unit = None;
    if refines.get() {
        // Fixes that refine come first, so that each kind shows its own effects.
        let refine = |text: &[u8]| find(text).into_iter().filter(is_refined).collect::<Vec<_>>();
        let refined = settle(&file.text, true, refine, |findings| findings);
        settled = settle(&refined.text, true, find, |findings| findings);
        refined_unit = Some(unit(&refined.text));
    }
    let fixed = unit(&settled.text);
    let (found, wrong): (Vec<_>, Vec<_>) = check(&file.text).into_iter().partition(is_right);
    let is_meant = |finding: &&Diagnostic| {
        let mut kernels = finding.kernels.iter();
        finding.fix.is_some() && entry.is_none_or(|wanted| kernels.any(|kernel| kernel == wanted))
    };
    FixedFile {
        pairs: changed_kernels(entry, flagged, &fixed, refined_unit.as_ref(), &found),
        unit: fixed,
        text: settled.text,
        mending: wrong.iter().filter(is_meant).count(),
    }
}

/// The kernels that differ between the two files, or only the one called `entry`. `refined` is the first file with
/// the fixes that refine.
pub(super) fn changed_kernels(
    entry: Option<&str>,
    flagged: &TranslationUnit,
    fixed: &TranslationUnit,
    refined: Option<&TranslationUnit>,
    found: &[Diagnostic],
) -> Vec<Pair> {
    let path = kernel::path(flagged);
    let mut pairs = Vec::new();
    for (id, function) in flagged.shader.entry_points() {
        if entry.is_some_and(|wanted| wanted != function.name) {
            continue;
        }
        let Ok(other) = kernel::entry(&fixed.shader, path, Some(&function.name)) else {
            continue;
        };
        if reachable_text(&flagged.shader, id) == reachable_text(&fixed.shader, other) {
            continue;
        }
        let refined = refined.and_then(|unit| {
            let entry = kernel::entry(&unit.shader, path, Some(&function.name)).ok()?;
            let text = reachable_text(&unit.shader, entry);
            let is_changed = text != reachable_text(&flagged.shader, id);
            is_changed.then(|| Refined {
                entry,
                is_all: text == reachable_text(&fixed.shader, other),
                shader: unit.shader.clone(),
            })
        });
        pairs.push(Pair {
            name: function.name.clone(),
            other: "its fix".to_owned(),
            flagged: id,
            fixed: other,
            group: group_size(&flagged.shader, id),
            findings: findings_in(flagged, id, found),
            refined,
        });
    }
    pairs
}

fn name_of(shader: &Shader, id: FunctionId) -> String {
    shader
        .functions
        .get(id.0 as usize)
        .map(|function| function.name.clone())
        .unwrap_or_default()
}

fn group_size(shader: &Shader, id: FunctionId) -> [u32; 3] {
    let function = shader.functions.get(id.0 as usize);
    function
        .and_then(|function| function.group_size)
        .unwrap_or_default()
}

/// The findings with a fix in a kernel and in the functions that it may call.
fn findings_in(unit: &TranslationUnit, entry: FunctionId, found: &[Diagnostic]) -> Vec<FindingLine> {
    let shader = &unit.shader;
    let places: Vec<FileSpan> = (reachable(shader, entry).into_iter())
        .filter_map(|id| {
            let function = shader.functions.get(id.0 as usize)?;
            shader.origins.locate(function.span)
        })
        .collect();
    let texts = SourceTexts::new(&shader.sources);
    let is_here = |finding: &&Diagnostic| {
        let at = finding.primary.place;
        let holds =
            |place: &FileSpan| place.file == at.file && place.start <= at.start && at.end <= place.end;
        finding.fix.is_some() && places.iter().any(holds)
    };
    let lines = found.iter().filter(is_here).map(|finding| FindingLine {
        rule: finding.rule,
        line: (texts.get(finding.primary.place.file))
            .map_or(0, |file| file.place(finding.primary.place.start).line),
        message: finding.message.clone(),
    });
    lines.collect()
}

/// A kernel and every function it may call.
pub(super) fn reachable(shader: &Shader, entry: FunctionId) -> Vec<FunctionId> {
    let mut seen = vec![entry];
    let mut next = 0;
    while let Some(id) = seen.get(next).copied() {
        next += 1;
        let Some(function) = shader.functions.get(id.0 as usize) else {
            continue;
        };
        let text = function.span.slice(&shader.text);
        for (other, callee) in (0u32..).zip(&shader.functions) {
            let name = callee.name.as_bytes();
            let is_named = !name.is_empty() && text.windows(name.len()).any(|window| window == name);
            if is_named && !seen.contains(&FunctionId(other)) {
                seen.push(FunctionId(other));
            }
        }
    }
    seen
}

/// The text of a kernel and of every function it may call.
pub(super) fn reachable_text(shader: &Shader, entry: FunctionId) -> Vec<&[u8]> {
    let functions = reachable(shader, entry).into_iter();
    functions
        .filter_map(|id| shader.functions.get(id.0 as usize))
        .map(|function| function.span.slice(&shader.text))
        .collect()
}

/// The statements that differ between the bodies of the two kernels: all from the first difference to the last one.
pub(super) fn changed_statements(
    flagged: &TranslationUnit,
    fixed: &TranslationUnit,
    pair: &Pair,
) -> Option<(Span, Span)> {
    let body = |unit: &'_ TranslationUnit, id: FunctionId| -> Option<Vec<(Span, Vec<u8>)>> {
        let shader = &unit.shader;
        let body = shader.functions.get(id.0 as usize)?.body.as_ref()?;
        Some(
            body.iter()
                .map(|s: &Stmt| (s.span, s.span.slice(&shader.text).to_vec()))
                .collect(),
        )
    };
    let (a, b) = (body(flagged, pair.flagged)?, body(fixed, pair.fixed)?);
    let mut same_start = a.iter().zip(&b).take_while(|(a, b)| a.1 == b.1).count();
    // If a loop does not initialise its variable itself, the statements before it that do so are part of it.
    let statements = flagged
        .shader
        .functions
        .get(pair.flagged.0 as usize)?
        .body
        .as_ref()?;
    let starts_elsewhere = |s: &Stmt| matches!(&s.kind, StmtKind::Loop(l) if l.init.is_empty());
    if statements.iter().skip(same_start).any(starts_elsewhere) {
        let sets = |s: &Stmt| match &s.kind {
            StmtKind::Declare { init, .. } => init.is_some(),
            StmtKind::Expr(expr) => matches!(expr.kind, ExprKind::Assign { .. }),
            _ => false,
        };
        let before = statements.get(..same_start)?;
        same_start -= before.iter().rev().take_while(|s| sets(s)).count();
    }
    let same_end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a.1 == b.1)
        .count();
    let middle = |statements: &[(Span, Vec<u8>)]| {
        let end = statements.len().checked_sub(same_end)?;
        let changed = statements.get(same_start..end)?;
        Some(changed.first()?.0.to(changed.last()?.0))
    };
    Some((middle(&a)?, middle(&b)?))
}
