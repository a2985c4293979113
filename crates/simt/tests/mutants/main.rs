//! Mutants of every ladder: whatever the engine calls a scan or a reduction of them is one, whatever the order in which
//! the threads take their turns.
//!
//! The judge is a plain interpreter of single threads ([`group`]); it shares no code with the engine.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(
    clippy::disallowed_methods,
    reason = "fixtures are files, and mutants are many"
)]

mod claim;
mod edits;
mod group;
mod kernels;
mod lanes;
mod program;
mod tile;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use shaderlint_hlsl::{FunctionId, NoIncludes, Shader};
use shaderlint_simt::{Collective, Kind, analyze};

use edits::Edit;
use group::{Buffers, End, Group, Order, Random};

/// A kernel to mutate.
struct Original {
    name: String,
    text: String,
    /// What each entry point leaves in its buffers, by inputs, and what the engine finds there.
    entries: Vec<(FunctionId, Vec<Buffers>, Vec<Collective>)>,
}

#[derive(Default)]
struct Tally {
    mutants: usize,
    /// Not text that the judge can run.
    unread: usize,
    claims: usize,
    /// Claims about code that does not end in the steps there are.
    unreached: usize,
    clean: usize,
    right: usize,
    rejected: Vec<String>,
    unsound: Vec<String>,
}

const SEEDS: u64 = 3;

fn parse(text: &str) -> Shader {
    shaderlint_hlsl::parse(text.as_bytes().to_vec()).0
}

/// What a kernel leaves in its buffers for some inputs, if it is defined: no race, nothing outside, all at each barrier.
fn outcome(program: &program::Program, inputs: u64, order: Order, nonce: u64) -> Option<Buffers> {
    let mut group = Group::new(program, inputs, order, nonce);
    let end = group.run(None);
    (end == End::Finished && !group.raced && group.raced_in.is_empty() && !group.left_bounds)
        .then_some(group.written)
}

fn original(name: String, text: String) -> Option<Original> {
    let shader = parse(&text);
    let entries = shader.entry_points().filter_map(|(entry, _)| {
        let program = program::compile(&shader, entry).ok()?;
        let outcomes: Option<Vec<Buffers>> = (1..=SEEDS)
            .map(|seed| outcome(&program, seed, Order::InTurn, seed))
            .collect();
        let collectives = analyze(&shader, entry).collectives;
        (!collectives.is_empty()).then_some((entry, outcomes?, collectives))
    });
    let entries: Vec<_> = entries.collect();
    (!entries.is_empty()).then_some(Original { name, text, entries })
}

/// The fixtures' text as the parser sees it.
fn fixtures(folder: &Path, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .expect("the fixtures are there")
        .map(|entry| entry.expect("a fixture can be listed").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            fixtures(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "hlsl") {
            let text = std::fs::read(&path).expect("a fixture can be read");
            let name = path.to_string_lossy().into_owned();
            let (unit, _) = shaderlint_hlsl::preprocess(&name, &text, &[], &NoIncludes);
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            found.push((name, String::from_utf8_lossy(&unit.text).into_owned()));
        }
    }
}

/// Single edits, then pairs of them, up to `most` in all: the same every time.
fn mutants(original: &Original, most: usize) -> Vec<Vec<Edit>> {
    let shader = parse(&original.text);
    let mut single: Vec<Edit> = Vec::new();
    for edit in edits::edits(&shader) {
        if !single.contains(&edit) {
            single.push(edit);
        }
    }
    let mut random = Random::new(original.text.len() as u64);
    if single.len() > most {
        let chosen: BTreeSet<usize> = (0..4 * most)
            .map(|_| random.below(single.len()))
            .take(most)
            .collect();
        return chosen
            .into_iter()
            .map(|index| vec![single[index].clone()])
            .collect();
    }
    let mut all: Vec<Vec<Edit>> = single.iter().map(|edit| vec![edit.clone()]).collect();
    for _ in 0..(most - all.len()).min(single.len()) {
        let pair =
            [random.below(single.len()), random.below(single.len())].map(|index| single[index].clone());
        let (first, second) = (pair[0].span, pair[1].span);
        if first.end < second.start || second.end < first.start {
            all.push(pair.to_vec());
        }
    }
    all
}

fn judge(original: &Original, edits: &[Edit], tally: &mut Tally) {
    let text = edits::apply(&original.text, &edits.iter().collect::<Vec<_>>());
    let shader = parse(&text);
    tally.mutants += 1;
    for ((entry, expected, found), (same, _)) in original.entries.iter().zip(shader.entry_points()) {
        if *entry != same {
            continue;
        }
        let Ok(program) = program::compile(&shader, *entry) else {
            tally.unread += 1;
            continue;
        };
        // What does not end has no result to be wrong about, and takes the engine long.
        let mut group = Group::new(&program, 1, Order::InTurn, 1);
        if group.run(None) == End::TooLong {
            tally.unreached += 1;
            continue;
        }
        let described = || {
            let edits: Vec<String> = edits
                .iter()
                .map(|edit| {
                    let old = String::from_utf8_lossy(edit.span.slice(original.text.as_bytes()));
                    format!("`{old}` → `{}`", edit.text)
                })
                .collect();
            format!("{}: {}", original.name, edits.join(", "))
        };
        let analysis = analyze(&shader, *entry);
        let claims = analysis.collectives;
        let may_part = !analysis.divergences.is_empty();
        for claim in &claims {
            tally.claims += 1;
            match claim::check(&shader, &program, claim, may_part) {
                Ok(true) => {}
                Ok(false) => tally.unreached += 1,
                Err(what) => {
                    let what = format!("{}\n  {claim:?}\n  {what}\n{text}", described());
                    tally.unsound.push(what);
                }
            }
        }
        let is_clean = outcome(&program, 1, Order::InTurn, 1);
        tally.clean += usize::from(is_clean.is_some());
        if is_clean.as_ref() != expected.first() {
            continue;
        }
        let orders = [Order::InTurn, Order::Shuffled, Order::Fine];
        let is_right = (1u64..).zip(expected).all(|(seed, expected)| {
            orders
                .iter()
                .all(|order| outcome(&program, seed, *order, seed + 7).as_ref() == Some(expected))
        });
        if is_right {
            tally.right += 1;
            let alike =
                |a: &Collective, b: &Collective| (a.kind == Kind::Reduction) == (b.kind == Kind::Reduction);
            let is_known = found
                .iter()
                .all(|known| claims.iter().any(|claim| alike(known, claim)));
            if !is_known {
                tally.rejected.push(described());
            }
        }
    }
}

#[test]
fn whatever_is_called_a_scan_is_one() {
    let mut texts: Vec<(String, String)> = kernels::kernels();
    fixtures(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"),
        &mut texts,
    );
    let originals: Vec<Original> = texts
        .into_iter()
        .filter_map(|(name, text)| original(name, text))
        .collect();
    let work: Vec<(&Original, Vec<Edit>)> = originals
        .iter()
        .flat_map(|original| {
            let names = |size: &str| original.text.contains(size);
            let most = if ["256", "512", "1024"].iter().any(|size| names(size)) {
                6
            } else if names("64") {
                20
            } else if original.name.starts_with("tile") {
                90
            } else {
                180
            };
            mutants(original, most)
                .into_iter()
                .map(move |edits| (original, edits))
        })
        .collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut tally = Tally::default();
                while let Some((original, edits)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    judge(original, edits, &mut tally);
                }
                let mut total = total.lock().expect("no thread failed");
                total.mutants += tally.mutants;
                total.unread += tally.unread;
                total.claims += tally.claims;
                total.unreached += tally.unreached;
                total.clean += tally.clean;
                total.right += tally.right;
                total.rejected.extend(tally.rejected);
                total.unsound.extend(tally.unsound);
            });
        }
    });
    let mut tally = total.into_inner().expect("no thread failed");
    tally.rejected.sort();
    tally.unsound.sort();
    eprintln!(
        "{} ladders, {} mutants: {} not read, {} claims, {} without an end; {} clean, {} of them right, {} of those rejected",
        originals.len(),
        tally.mutants,
        tally.unread,
        tally.claims,
        tally.unreached,
        tally.clean,
        tally.right,
        tally.rejected.len()
    );
    for rejected in &tally.rejected {
        eprintln!("rejected: {rejected}");
    }
    assert!(
        tally.unsound.is_empty(),
        "{} unsound:\n{}",
        tally.unsound.len(),
        tally.unsound.join("\n")
    );
    assert!(tally.mutants >= 5000, "{} mutants", tally.mutants);
    assert!(
        100 * tally.rejected.len() <= tally.right,
        "{} of {} rejected",
        tally.rejected.len(),
        tally.right
    );
}
