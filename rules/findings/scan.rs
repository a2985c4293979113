//! The finding that the rules about scans report.

use shaderlint_linter::{Context, Finding, Label, Level, Reason, ShaderModel};
use shaderlint_simt::{Collective, Kind, Shape};

use crate::describe::collective;
use crate::findings::LEAST;
use crate::fixes::waves::refusal::Refusal;
use crate::fixes::waves::{replacement, scan as forms, wording};

/// The findings of a rule about the scans whose shape has a `name`.
pub(crate) fn findings(context: &Context<'_>, name: impl Fn(Shape) -> Option<&'static str>) -> Vec<Finding> {
    let collectives = context.analysis.collectives.iter();
    let scans = collectives.filter(|found| found.kind != Kind::Reduction && found.count >= LEAST);
    // The reach of a ladder shows its shape only where it scans all elements from the first.
    let shape = |scan: &Collective| match scan.shape {
        Shape::Tree if scan.reversed || scan.segment != scan.count => Shape::Other,
        shape => shape,
    };
    scans
        .filter_map(|scan| Some(finding(context, name(shape(scan))?, scan)))
        .collect()
}

fn finding(context: &Context<'_>, shape: &str, scan: &Collective) -> Finding {
    let needed = ShaderModel::WAVES;
    let kind = match (scan.kind == Kind::InclusiveScan, scan.reversed) {
        (true, false) => "inclusive",
        (false, false) => "exclusive",
        (true, true) => "reversed inclusive",
        (false, true) => "reversed exclusive",
    };
    let fix = context.shows(needed).then(|| replacement::fix(context, scan));
    let (proved, why_not) = match fix.transpose() {
        Ok(proved) => (proved, None),
        Err(why_not) => (None, Some(why_not)),
    };
    let mut notes = vec![collective::proof(context, scan)];
    notes.push(if let Some(proved) = &proved {
        wording::needs(scan, proved, needed)
    } else {
        let in_one_row = if context.has_rows() {
            let lanes: u32 = context.analysis.group_size.iter().product();
            format!(": make the group {lanes}\u{d7}1\u{d7}1 and compute its coordinates from SV_GroupIndex")
        } else {
            String::new()
        };
        format!(
            "a wave form needs shader model {needed}; a form in which each thread scans its own element also \
             needs {}{in_one_row}",
            wording::LINEAR
        )
    });
    let fix = proved.map(|proved| proved.fix);
    let is_slower = context.has_rows() && scan.count >= forms::SLOWER_BY_ONE_WAVE;
    if is_slower {
        notes.push(
            "a scan by one wave does not need consecutive threads, but was slower than the ladder on an NVIDIA \
             H200: 0.8 times as fast at 1024 elements"
                .to_owned(),
        );
    }
    notes.extend(collective::beside(context, scan));
    notes.extend(collective::assumed_of_other_groups(context, scan));
    notes.extend(collective::of_macro(context, scan));
    notes.extend(wording::of_floats(scan));
    let no_fix = why_not.map(|why_not| match why_not {
        Refusal::NoForm(why) if context.has_rows() && why.reason == Reason::NoForm => {
            wording::no_packing(context, &format!("such a scan of {} elements", scan.count))
        }
        why_not => why_not.no_fix(),
    });
    Finding {
        entry: context.entry,
        message: format!("{shape} {kind} scan of {}", collective::elements(context, scan)),
        shape: Some(collective::shape_id(scan)),
        verdict: collective::verdict(scan),
        needs: needed,
        worth: if is_slower { Level::Info } else { Level::Error },
        primary: Label {
            place: collective::head(context, scan),
            text: collective::effort(scan),
        },
        secondary: collective::places(context, scan),
        notes,
        fix,
        no_fix,
    }
}
