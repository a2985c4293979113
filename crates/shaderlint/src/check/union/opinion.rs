//! Opinions on fixes: a fix changes the text for everything that compiles it, but its proof is from one reading.

use shaderlint_hlsl::FileSpan;
use shaderlint_linter::{Category, Caveat, Diagnostic, FileEdit, Fix, FixNote, NoFix, Proof, Reason, Safety};

use super::is_one;
use crate::check::guesses::{add_notes, rest_on};
use crate::check::readings::Reading;

/// The opinion of a reading on a fix that another reading proved.
pub(crate) enum Opinion {
    /// The engine followed its kernels, and the fix was not found.
    Refusal(NoFix<FileSpan>),
    /// The engine did not follow its kernels as far as the fix.
    Doubt(FixNote),
    /// It has the same edits, with other notes or another proof.
    Agreement(Box<Fix<FileEdit>>),
}

impl Opinion {
    /// `there` is the fix as found in `where_else`, such as "in kernel Main".
    pub fn agreement(fix: &Fix<FileEdit>, there: &Fix<FileEdit>, where_else: &str) -> Opinion {
        let mut there = there.clone();
        there.proof.take_if(|proof| fix.proof.as_ref() == Some(proof));
        there.proof = there.proof.map(|proof| proof.prefixed_with(where_else));
        Opinion::Agreement(Box::new(there))
    }

    pub fn applies_to(self, finding: &mut Diagnostic) {
        match self {
            Opinion::Refusal(why) => finding.withdraw(why),
            Opinion::Doubt(note) => rest_on(finding, vec![note]),
            Opinion::Agreement(there) => rest_on_both(finding, *there),
        }
    }
}

/// Merges the same edits of another reading into the fix: it is safe only if it is safe in both. If it is unsafe
/// there, the fix gets both proofs.
fn rest_on_both(finding: &mut Diagnostic, there: Fix<FileEdit>) {
    let Some(fix) = finding.fix.as_mut() else {
        return;
    };
    if there.safety == Safety::Unsafe {
        fix.safety = Safety::Unsafe;
        let proofs = [fix.proof.take(), there.proof].into_iter().flatten();
        fix.proof = proofs.reduce(Proof::and);
    }
    fix.other_form
        .take_if(|form| there.other_form.as_ref() != Some(form));
    add_notes(finding, there.notes);
}

/// A fix changes the text for every reading that compiles it, but its proof is from one reading. The fix stays only
/// if every such reading either has the same fix or, for a fix of a defect, was not followed far enough to decide. In
/// the second case the fix is unsafe, and its notes name the reading.
pub(super) fn settle_opinions(readings: &mut [Reading]) {
    let mut opinions = Vec::new();
    for (number, reading) in readings.iter().enumerate() {
        for (index, finding) in reading.report.findings.iter().enumerate() {
            let others = readings.iter().enumerate().filter(|(other, _)| *other != number);
            let held = others.filter_map(|(_, other)| opinion_on(finding, other));
            opinions.extend(held.map(|opinion| (number, index, opinion)));
        }
    }
    for (number, index, opinion) in opinions {
        let finding = readings
            .get_mut(number)
            .and_then(|reading| reading.report.findings.get_mut(index));
        if let Some(finding) = finding {
            opinion.applies_to(finding);
        }
    }
}

/// The opinion of a reading on a fix of another one. `None` if no build of it compiles text that the fix changes, or if it
/// has the very same fix.
fn opinion_on(finding: &Diagnostic, reading: &Reading) -> Option<Opinion> {
    let fix = finding.fix.as_ref()?;
    // An insertion leaves the code beside it as it is.
    let places = fix.edits.iter().map(|edit| edit.place);
    let changed = places.filter(|place| place.start < place.end);
    let left_out = reading.inactive.iter().map(|inactive| inactive.region);
    let regions: Vec<FileSpan> = left_out.chain(reading.unreached.iter().copied()).collect();
    let takes_in = |place: FileSpan| !regions.iter().any(|region| place.begins_in(*region));
    let mut here = reading.report.findings.iter();
    let own = here.find(|other| is_one(other, finding));
    let mut all = std::iter::once(finding.primary.place).chain(changed);
    if !reading.is_built || !all.any(takes_in) {
        return None;
    }
    let label = reading.name.label();
    let which = label.as_deref().unwrap_or("for the file as it stands");
    let makes_it = |there: &&Fix<FileEdit>| there.edits == fix.edits;
    if let Some(there) = own.and_then(|own| own.fix.as_ref()).filter(makes_it) {
        return (there != fix).then(|| Opinion::agreement(fix, there, which));
    }
    let reason = own.and_then(|own| own.no_fix.as_ref());
    if cannot_tell(reading, finding, own) {
        let note = format!(
            "the fix is not proved {which}, where shaderlint cannot follow the kernel to its \
             end"
        );
        return Some(Opinion::Doubt(Caveat::Unfollowed.note(note)));
    }
    let text = match reason {
        Some(why) => format!("{which}, {}", why.text()),
        None => format!("the same fix is not proved {which}"),
    };
    Some(Opinion::Refusal(
        NoFix::new(Reason::OtherVariant, text).named(which),
    ))
}

/// Whether a reading neither has the fix of a finding nor objects to it, because the engine follows none of its
/// kernels as far as the fix. `own` is the reading's finding at the same place. The default configuration must have
/// each fix.
///
/// Only a fix of a defect may stay without this reading's consent: it adds barriers and may split assignments around them,
/// so it drops no value. A wave form does not restore what nothing reads where it is proved, such as the ladder's array.
/// This reading may read that through a function, a macro or an included file, and only its run could tell.
pub(crate) fn cannot_tell(reading: &Reading, finding: &Diagnostic, own: Option<&Diagnostic>) -> bool {
    if reading.is_default() || finding.category != Category::Correctness {
        return false;
    }
    let mut partial_kernels = reading.report.partial_kernels.iter();
    let is_partial =
        partial_kernels.any(|kernel| finding.kernels.is_empty() || finding.kernels.contains(kernel));
    let is_against = |own: &Diagnostic| {
        let why = own.no_fix.as_ref();
        !why.is_some_and(|why| why.reason.is_about_the_run())
    };
    is_partial && !own.is_some_and(is_against)
}
