//! `shaderlint verify FILE`: are the fixed kernels the flagged ones, by proof and on every GPU there is?

mod proof;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use shaderlint_hlsl::{ExprKind, FunctionId, Scalar, Shader, Span, Stmt, StmtKind};
use shaderlint_linter::{Category, Diagnostic, Settings, Verdict, check_shader, settle};
use shaderlint_rules::RULES;
use shaderlint_simt::unordered;
use shaderlint_verify::run::{Tolerance, Trial, compare_and_time_everywhere};
use shaderlint_verify::{Lowered, lower_repeated};

use crate::args::SourceArgs;
use crate::lint::{self, OneFile, Unit};
use crate::{Outcome, kernel, terminal};

/// Passes of the ladder in one run where the ladder, not the memory, is to be timed.
const PASSES: u32 = 64;

/// Arguments of `shaderlint verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The HLSL file
    pub file: PathBuf,
    /// The entry point, where the file has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Compare with the kernel in this file instead of with the fixed one
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Compare results only
    #[arg(long)]
    pub no_timing: bool,
    /// Fail (exit 2) where no adapter could run the kernels
    #[arg(long)]
    pub require_gpu: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Two kernels that should do the same.
struct Pair {
    name: String,
    /// What the second one is called in messages.
    other: String,
    flagged: FunctionId,
    fixed: FunctionId,
    /// The flagged kernel with its atomics aggregated, where that is part of the fix.
    refined: Option<Refined>,
}

/// A kernel after the fixes that refine it and before the others: each was proved by itself, as it was offered.
struct Refined {
    shader: Shader,
    entry: FunctionId,
    /// Nothing else was fixed.
    is_all: bool,
}

pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    let file = OneFile::read(&args.file, &args.source)?;
    let flagged = file.unit(&file.text);
    let (fixed, pairs) = match &args.against {
        Some(against) => other_file(args, &flagged, against)?,
        None => fixed_file(args, &file, &flagged)?,
    };
    if pairs.is_empty() {
        terminal::print(
            format!("{}: no kernel has a finding with a fix\n", kernel::path(&flagged)).as_bytes(),
        )?;
        return Ok(Outcome::Clean);
    }
    let mut is_equal = true;
    let mut could_run = true;
    for pair in &pairs {
        let proof = proof::prove(&flagged.shader, &fixed.shader, pair);
        terminal::print(proof.text.as_bytes())?;
        is_equal &= proof.holds;
        match on_devices(&flagged, &fixed, pair, !args.no_timing) {
            Ok((rows, _)) if rows.is_empty() => {
                could_run = false;
                terminal::print(b"  no GPU adapter: nothing was run\n")?;
            }
            Ok((rows, remarks)) => {
                could_run &= rows.iter().any(|row| row.is_equal.is_some());
                is_equal &= rows.iter().all(|row| row.is_equal != Some(false));
                terminal::print(table::render(&rows).as_bytes())?;
                for remark in remarks {
                    terminal::print(format!("  {remark}\n").as_bytes())?;
                }
            }
            Err(error) => {
                could_run = false;
                terminal::print(format!("  not run: {error:#}\n").as_bytes())?;
            }
        }
    }
    Ok(match (is_equal, could_run || !args.require_gpu) {
        (false, _) => Outcome::Findings,
        (true, false) => Outcome::Failure,
        (true, true) => Outcome::Clean,
    })
}

/// The kernel of another file beside this one's.
fn other_file(args: &VerifyArgs, flagged: &Unit, against: &std::path::Path) -> Result<(Unit, Vec<Pair>)> {
    let other = lint::read_unit(against, &args.source)?;
    let path = kernel::path(flagged);
    let first = kernel::entry(&flagged.shader, path, args.entry.as_deref())?;
    let other_path = kernel::path(&other);
    // The same name if it has it, else its only one.
    let name = name_of(&flagged.shader, first);
    let second = kernel::entry(&other.shader, other_path, Some(&name))
        .or_else(|_| kernel::entry(&other.shader, other_path, None))?;
    let pair = Pair {
        other: name_of(&other.shader, second),
        name,
        flagged: first,
        fixed: second,
        refined: None,
    };
    Ok((other, vec![pair]))
}

/// The file with every fix made, and the kernels that changed.
fn fixed_file(args: &VerifyArgs, file: &OneFile, flagged: &Unit) -> Result<(Unit, Vec<Pair>)> {
    let path = kernel::path(flagged);
    // A kernel that is wrong has no meaning to compare with.
    let is_right = |finding: &Diagnostic| finding.category == Category::Perf;
    let check = |text: &[u8]| check_shader(&file.unit(text).shader, RULES, &Settings::default()).findings;
    let look = |text: &[u8]| check(text).into_iter().filter(is_right).collect::<Vec<_>>();
    let is_refined = |finding: &Diagnostic| finding.verdict == Verdict::Refines;
    let refine = |text: &[u8]| look(text).into_iter().filter(is_refined).collect::<Vec<_>>();
    let refined = settle(&file.text, true, refine, |findings| findings);
    let fixes = refined.fixed;
    let refined_text = refined.text;
    let settled = settle(&refined_text, true, look, |findings| findings);
    let fixed = file.unit(&settled.text);
    let refined_unit = (fixes > 0).then(|| file.unit(&refined_text));
    let mut pairs = Vec::new();
    for (id, function) in flagged.shader.entry_points() {
        if args.entry.as_ref().is_some_and(|wanted| *wanted != function.name) {
            continue;
        }
        let Ok(other) = kernel::entry(&fixed.shader, path, Some(&function.name)) else {
            continue;
        };
        let changed = reachable_text(&flagged.shader, id) != reachable_text(&fixed.shader, other);
        if changed {
            let refined = refined_unit.as_ref().and_then(|unit| {
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
                refined,
            });
        }
    }
    if let Some(wanted) = &args.entry {
        kernel::entry(&flagged.shader, path, Some(wanted))?;
    }
    Ok((fixed, pairs))
}

fn name_of(shader: &Shader, id: FunctionId) -> String {
    shader
        .functions
        .get(id.0 as usize)
        .map(|function| function.name.clone())
        .unwrap_or_default()
}

/// The text of a kernel and of every function it may call.
fn reachable_text(shader: &Shader, entry: FunctionId) -> Vec<&[u8]> {
    let mut seen = vec![entry];
    let mut texts = Vec::new();
    let mut next = 0;
    while let Some(id) = seen.get(next).copied() {
        next += 1;
        let Some(function) = shader.functions.get(id.0 as usize) else {
            continue;
        };
        let text = function.span.slice(&shader.text);
        texts.push(text);
        for (other, callee) in (0u32..).zip(&shader.functions) {
            let name = callee.name.as_bytes();
            let is_named = !name.is_empty() && text.windows(name.len()).any(|window| window == name);
            if is_named && !seen.contains(&FunctionId(other)) {
                seen.push(FunctionId(other));
            }
        }
    }
    texts
}

/// A table's rows, and what else is to be known about them.
type Rows = (Vec<table::Row>, Vec<String>);

/// Runs both kernels on every adapter: whole, and with their ladder repeated where one can be told.
fn on_devices(flagged: &Unit, fixed: &Unit, pair: &Pair, is_timed: bool) -> Result<Rows> {
    let first = kernel::lower(flagged, pair.flagged)?;
    let second = kernel::lower(fixed, pair.fixed)?;
    let lanes = first.group_size.iter().product::<u32>().max(1);
    let mut trial = Trial::new(&first, &second);
    trial.unordered = unordered(&flagged.shader, pair.flagged);
    trial.tolerance = tolerance(&first, lanes);
    trial.is_untimed = !is_timed;
    let mut rows: Vec<table::Row> = compare_and_time_everywhere(&trial)
        .into_iter()
        .map(|(adapter, report)| table::row("kernel", &adapter, &first, report))
        .collect();
    let mut remarks: Vec<String> = [(&pair.name, &first), (&pair.other, &second)]
        .into_iter()
        .filter(|(_, kernel)| kernel.is_flattened())
        .map(|(name, kernel)| flattened(name, kernel))
        .collect();
    remarks.dedup();
    if !is_timed || rows.is_empty() {
        return Ok((rows, remarks));
    }
    let untimed = |why: String| format!("the ladder alone is not timed: {why}");
    let Some((slow, fast)) = changed_statements(flagged, fixed, pair) else {
        remarks.push(untimed("which statements differ cannot be told".to_owned()));
        return Ok((rows, remarks));
    };
    let slow = lower_repeated(&flagged.shader, pair.flagged, slow, PASSES);
    let fast = lower_repeated(&fixed.shader, pair.fixed, fast, PASSES);
    let (slow, fast) = match (slow, fast) {
        (Ok(slow), Ok(fast)) => (slow, fast),
        (Err(error), _) | (_, Err(error)) => {
            remarks.push(untimed(error.to_string()));
            return Ok((rows, remarks));
        }
    };
    trial.timed = Some((&slow, &fast));
    let reports = compare_and_time_everywhere(&trial).into_iter();
    let timed =
        reports.map(|(adapter, report)| table::row(&format!("ladder ×{PASSES}"), &adapter, &first, report));
    rows.extend(timed.filter(table::Row::is_timed));
    Ok((rows, remarks))
}

/// What a reader has to know of a kernel whose rows are laid end to end on the GPU.
fn flattened(name: &str, kernel: &Lowered) -> String {
    let [x, y, z] = kernel.group_size;
    let threads = kernel.workgroup_size.iter().product::<u32>();
    format!("{name} uses lane ids: its group of {x}×{y}×{z} ran as one row of {threads} threads")
}

/// How far floats may be apart: γ(h1 + h2) times the sum of the magnitudes of one group's inputs, where the ladder
/// adds at most log2 N deep and the wave form at most 9 + N/16 (waves of 4: two levels in the wave, one add for each
/// chunk of 4 totals of 4 elements, two levels in the chunk).
fn tolerance(kernel: &Lowered, lanes: u32) -> Tolerance {
    let has_floats = kernel.bindings.iter().any(|binding| {
        binding
            .element
            .words
            .iter()
            .any(|word| word.scalar == Scalar::Float)
    });
    if !has_floats {
        return Tolerance::Exact;
    }
    // Inputs lie below 2^8 in magnitude.
    Tolerance::Gamma {
        depth: lanes.ilog2() + 1 + 9 + lanes / 16,
        magnitude: 256.0 * lanes as f32,
    }
}

/// The statements of the two kernels' bodies that are not alike: what lies between the first and the last difference.
fn changed_statements(flagged: &Unit, fixed: &Unit, pair: &Pair) -> Option<(Span, Span)> {
    let body = |unit: &'_ Unit, id: FunctionId| -> Option<Vec<(Span, Vec<u8>)>> {
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
    // A loop that does not set its variable itself: the statements before that do are part of it.
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
