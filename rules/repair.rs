//! What ends races that are told together: barriers, or else what was found out about them.

use shaderlint_linter::Context;
use shaderlint_simt::Race;

use crate::advice::Proved;
use crate::missing_barrier::{Barrier, NoBarrier};
use crate::{advice, missing_barrier, several_barriers};

pub(crate) struct Repair {
    pub barrier: Result<Barrier, NoBarrier>,
    /// What to do where no fix ends all of them.
    pub advice: Option<String>,
}

/// `lines` are the races by line. `steps` is what was taken for other races of the kernel.
pub(crate) fn of(context: &Context<'_>, lines: &[Vec<&Race>], steps: &mut u64) -> Repair {
    let barrier = missing_barrier::fix(context, lines);
    if matches!(&barrier, Ok(barrier) if barrier.ends_these) {
        return Repair {
            barrier,
            advice: None,
        };
    }
    let races = lines.concat();
    let Some(found) = advice::proved(context, &races, steps) else {
        let order = races.first().map(|race| advice::order(context, race));
        return Repair {
            barrier,
            advice: order,
        };
    };
    if let Some(barrier) = several_barriers::fix(context, &races, &found) {
        return Repair {
            barrier: Ok(barrier),
            advice: None,
        };
    }
    let barrier = barrier.map_err(|reason| match reason {
        NoBarrier::NoPlace { .. } if found.is_one_barrier() => NoBarrier::unsure(context),
        NoBarrier::NoPlace { .. } | NoBarrier::TooLong if found.ends_conditions() => NoBarrier::NeedsMore,
        reason => reason,
    });
    let Proved { text, .. } = found;
    Repair {
        barrier,
        advice: Some(text),
    }
}
