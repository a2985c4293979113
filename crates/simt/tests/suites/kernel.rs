//! What is found in one kernel.

use std::fmt::Debug;

use shaderlint_hlsl::{FunctionId, GlobalId, LocalId, Problem, Shader, Span, Version};
use shaderlint_simt::{
    Access, Amount, Analysis, Around, Atomic, Cells, Collective, ContendedAtomic, Divergence, Elements,
    Floats, Half, Holders, Kind, OldValueUse, Race, Stop, WaveEffect, WaveLadder, analyze, element_text,
    proved_of_itself,
};

use crate::cases::Kernel;
use crate::facts::{Topic, entry_of, joined, lines, numbers, or_none, problems, shader_of};

pub(crate) const TOPICS: &[Topic<Read>] = &[
    Topic {
        starts: &["claim:", "no claims"],
        facts: |read| or_none(lines(&read.analysis.contended_atomics, claim), "no claims"),
    },
    Topic {
        starts: &["race on", "no races"],
        facts: |read| or_none(read.races(), "no races"),
    },
    Topic {
        starts: &[
            "inclusive scan",
            "exclusive scan",
            "reversed",
            "reduction",
            "no collectives",
        ],
        facts: |read| {
            or_none(
                lines(&read.analysis.collectives, |found| read.collective(found)),
                "no collectives",
            )
        },
    },
    Topic {
        starts: &["wave", "no wave ladders"],
        facts: |read| {
            or_none(
                lines(&read.analysis.wave_ladders, |found| read.wave_ladder(found)),
                "no wave ladders",
            )
        },
    },
    Topic {
        starts: &["out of bounds:", "nothing out of bounds"],
        facts: |read| or_none(read.out_of_bounds(), "nothing out of bounds"),
    },
    Topic {
        starts: &["unwritten:", "nothing unwritten"],
        facts: |read| or_none(read.unwritten(), "nothing unwritten"),
    },
    Topic {
        starts: &["divergent barrier:", "no divergent barriers"],
        facts: |read| or_none(read.divergences(), "no divergent barriers"),
    },
    Topic {
        // All of the four before.
        starts: &["defect:", "no defects"],
        facts: |read| {
            let kinds = [
                read.divergences(),
                read.out_of_bounds(),
                read.races(),
                read.unwritten(),
            ];
            let defects = kinds
                .concat()
                .into_iter()
                .map(|defect| format!("defect: {defect}"));
            or_none(defects.collect(), "no defects")
        },
    },
    Topic {
        starts: &["needless barrier:", "no needless barriers"],
        facts: |read| or_none(read.needless_barriers(), "no needless barriers"),
    },
    Topic {
        starts: &["wrong at wave size", "right at all wave sizes"],
        facts: |read| vec![read.wave_dependence()],
    },
    Topic {
        starts: &["stopped:", "not stopped"],
        facts: |read| stop("", read.analysis.stopped.as_ref()),
    },
    Topic {
        starts: &["claims stopped:", "claims not stopped"],
        facts: |read| stop("claims ", read.analysis.atomics_stopped.as_ref()),
    },
    Topic {
        starts: &["assumed bounds stopped:", "assumed bounds not stopped"],
        facts: |read| stop("assumed bounds ", read.analysis.assumed_bounds_stopped.as_ref()),
    },
    Topic {
        starts: &["problem:", "no problems"],
        facts: |read| problems(&read.problems),
    },
    Topic {
        starts: &["proved of itself", "not proved of itself:"],
        facts: |read| {
            let proved = proved_of_itself(Floats::Any, (&read.shader, read.entry));
            let refused = proved.map_err(|why| format!("not proved of itself: {why}"));
            vec![refused.err().unwrap_or_else(|| "proved of itself".to_owned())]
        },
    },
];

/// A kernel that was looked at.
pub(crate) struct Read {
    kernel: Kernel,
    shader: Shader,
    problems: Vec<Problem>,
    entry: FunctionId,
    analysis: Analysis,
}

impl Read {
    pub(crate) fn of(kernel: &Kernel, version: Option<Version>) -> Result<Self, String> {
        let (shader, problems) = shader_of(kernel, version);
        let entry = entry_of(&shader)?;
        let analysis = analyze(&shader, entry);
        Ok(Read {
            kernel: kernel.clone(),
            shader,
            problems,
            entry,
            analysis,
        })
    }

    fn text(&self, span: Span) -> String {
        String::from_utf8_lossy(span.slice(&self.shader.text)).into_owned()
    }

    fn line(&self, offset: u32) -> i64 {
        self.kernel.line_of(offset)
    }

    /// In which function a construct is, and on which lines if they are the case's own.
    fn whereabouts(&self, function: FunctionId, span: Span) -> String {
        let name = &self.shader.functions[function.0 as usize].name;
        match (self.line(span.start), self.line(span.end)) {
            (first, last) if first > 0 => format!("in {name}, lines {first}-{last}"),
            _ => format!("in {name}"),
        }
    }

    fn place(&self, array: GlobalId, index: i32) -> String {
        element_text(&self.shader, array, i64::from(index))
    }

    fn races(&self) -> Vec<String> {
        lines(&self.analysis.races, |race| self.race(race))
    }

    fn divergences(&self) -> Vec<String> {
        lines(&self.analysis.divergences, |found| self.divergence(found))
    }

    fn needless_barriers(&self) -> Vec<String> {
        lines(&self.analysis.needless_barriers, |barrier| {
            format!("needless barrier: line {}", self.line(barrier.start))
        })
    }

    fn out_of_bounds(&self) -> Vec<String> {
        lines(&self.analysis.out_of_bounds, |found| {
            let place = self.place(found.array, found.index);
            format!("out of bounds: {}", access(&found.access, &place))
        })
    }

    fn unwritten(&self) -> Vec<String> {
        lines(&self.analysis.uninitialised, |found| {
            let place = self.place(found.array, found.index.cast_signed());
            let given = found.given.iter().map(|given| format!("given {given}"));
            joined(std::iter::once(format!("unwritten: {}", access(&found.read, &place))).chain(given))
        })
    }

    fn divergence(&self, found: &Divergence) -> String {
        let parted = found.parted.map(|parted| format!("by {}", self.text(parted)));
        let given = found.given.iter().map(|given| format!("given {given}"));
        let here = format!("divergent barrier: {} here and {} away", found.here, found.away);
        joined(std::iter::once(here).chain(parted).chain(given))
    }

    fn race(&self, race: &Race) -> String {
        let place = self.place(race.array, race.index.cast_signed());
        let access = |access: &Access| {
            let verb = if access.is_write { "writes" } else { "reads" };
            format!(
                "{} {verb} in line {}",
                access.thread,
                self.line(access.span.start)
            )
        };
        let pass = race.second.around.iter().rev().find_map(|around| match around {
            Around::Loop { iteration, .. } => Some(iteration.variable.as_ref()?.to_string()),
            Around::Call(_) => None,
        });
        let under = race.condition.map(|under| {
            let holds = if under.holds { "if" } else { "unless" };
            format!(
                "{holds} {} in thread {}",
                self.text(under.condition),
                under.thread
            )
        });
        let given = race
            .given
            .iter()
            .map(|given| format!("given {} = {}", given.bound, given.value));
        let accesses = [
            access(&race.first),
            access(&race.second),
            format!("interval {}", race.interval),
        ];
        joined(
            std::iter::once(format!("race on {place}"))
                .chain(accesses)
                .chain(pass)
                .chain(given)
                .chain(under),
        )
    }

    fn collective(&self, found: &Collective) -> String {
        let reversed = if found.reversed { "reversed " } else { "" };
        let segments = if found.segment < found.count {
            format!(" in segments of {}", found.segment)
        } else if found.blocks > 1 {
            format!(" in each of {} blocks", found.blocks)
        } else {
            String::new()
        };
        let kind = kind(found.kind);
        let head = format!(
            "{reversed}{kind} by {:?} of {}{segments}",
            found.operator, found.count
        );
        let half = found.half.map(|half| match half {
            Half::Low => "of low halves".to_owned(),
            Half::High => "of high halves".to_owned(),
        });
        let place = |elements: &Elements| self.elements(elements, found.function, Some(found));
        let rewrite = match &found.rewrite {
            Ok(rewrite) => ["rewritable".to_owned(), format!("lane {}", rewrite.lane)].to_vec(),
            Err(why) => vec![format!("not rewritable: {}", variant(why))],
        };
        let given = found
            .instances
            .iter()
            .map(|given| format!("given {} = {}", given.bound, given.value));
        let beside = found
            .beside
            .iter()
            .map(|beside| format!("beside {:?} -> {}", beside.operator, place(&beside.output)));
        let parts = [
            found.element_name(),
            format!("{} -> {}", place(&found.input), place(&found.output)),
            format!("{:?}", found.shape),
            format!("{} rounds", found.rounds),
            format!("{} barriers", found.barriers),
            self.whereabouts(found.function, found.span),
        ];
        let orders = if found.orders_device {
            "orders the device"
        } else {
            "orders groupshared memory"
        };
        let assumes = if found.assumes_convergence {
            "assuming convergence"
        } else {
            "assuming nothing"
        };
        let amid = if found.amid.is_some() {
            "amid other accesses"
        } else {
            "amid nothing"
        };
        let rest = [orders, assumes, amid].map(str::to_owned);
        let all = std::iter::once(head)
            .chain(half)
            .chain(parts)
            .chain(rewrite)
            .chain(rest);
        joined(all.chain(beside).chain(given))
    }

    fn wave_ladder(&self, found: &WaveLadder) -> String {
        let reversed = if found.reversed { "reversed " } else { "" };
        let place = |elements: &Elements| self.elements(elements, found.function, None);
        let holders = match found.holders {
            Holders::AllLanes => "in all lanes",
            Holders::FirstLane => "in the first lane",
        };
        let arms = if found.needs_both_arms {
            "if both arms of ?: are evaluated"
        } else {
            "in every version"
        };
        joined([
            format!("wave {reversed}{} by {:?}", kind(found.kind), found.operator),
            found.element.name().to_owned(),
            format!("{} -> {}", place(&found.input), place(&found.output)),
            holders.to_owned(),
            format!("at {}", numbers(&found.sizes)),
            format!("{} to {} reads", found.reads.0, found.reads.1),
            self.whereabouts(found.function, found.span),
            arms.to_owned(),
        ])
    }

    fn elements(&self, elements: &Elements, function: FunctionId, of: Option<&Collective>) -> String {
        let global = |global: &GlobalId| {
            let name = &self.shader.globals[global.0 as usize].name;
            let extent = of.and_then(|of| of.tiles.iter().find(|tile| tile.resource == *global));
            match extent {
                Some(extent) if extent.start.is_empty() => format!("{name}@"),
                Some(extent) => format!("{name}@({})", extent.start),
                None => name.clone(),
            }
        };
        let local =
            |local: &LocalId| &self.shader.functions[function.0 as usize].locals[local.0 as usize].name;
        let part = |component: &Option<u8>| component.map_or(String::new(), |part| format!(".{part}"));
        let axis = |axis: &u8| match axis {
            0 => String::new(),
            axis => format!("|{axis}"),
        };
        match elements {
            Elements::Array {
                global: array,
                offset,
                component,
                axis: along,
            } => format!("{}+{offset}{}{}", global(array), part(component), axis(along)),
            Elements::Spread { global: array, shift } => {
                let shift = shift.map_or(String::new(), |shift| shift.to_string());
                format!("{}~{shift}", global(array))
            }
            Elements::Cell {
                global: array,
                index,
                component,
                axis: along,
            } => format!("{}[{index}]{}{}", global(array), part(component), axis(along)),
            Elements::Register { local: id, component } => format!("{}{}", local(id), part(component)),
            Elements::OneRegister {
                local: id,
                component,
                thread,
            } => format!("{}{} of {thread}", local(id), part(component)),
            Elements::Expression {
                span,
                component,
                thread,
            } => {
                format!("{}{} of {thread}", self.text(*span), part(component))
            }
        }
    }

    fn wave_dependence(&self) -> String {
        let Some(found) = &self.analysis.wave_dependence else {
            return "right at all wave sizes".to_owned();
        };
        let what = match &found.effect {
            WaveEffect::OutOfBounds(found) => {
                let place = self.place(found.array, found.index);
                format!("out of bounds: {}", access(&found.access, &place))
            }
            WaveEffect::Races(race) => {
                format!("race on {}", self.place(race.array, race.index.cast_signed()))
            }
            WaveEffect::Differs { place, got, .. } => format!("{place} is {got}"),
        };
        let (sizes, map) = (numbers(&found.sizes), found.map.name());
        format!("wrong at wave size {sizes}, {map}, {what}")
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::InclusiveScan => "inclusive scan",
        Kind::ExclusiveScan => "exclusive scan",
        Kind::Reduction => "reduction",
    }
}

/// The name of a variant, without what it holds.
fn variant(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

fn claim(claim: &ContendedAtomic) -> String {
    let found = match claim.old_value {
        OldValueUse::Slot => "slot",
        OldValueUse::Unused => "sum",
        OldValueUse::Otherwise => "other",
    };
    let cells = match claim.cells {
        Cells::One => String::new(),
        Cells::Few(count) => format!(" in {count}"),
    };
    let amount = match claim.amount {
        Amount::Known(amount) => format!("of {amount}"),
        Amount::Uniform => "of one amount".to_owned(),
        Amount::Varying => "of any amount".to_owned(),
    };
    let parts = match &claim.parts {
        Ok(parts) if parts.index.is_some() => "combined by index".to_owned(),
        Ok(_) => "combined".to_owned(),
        Err(why) => format!("not combined: {}", variant(why)),
    };
    let names: Vec<&str> = claim.assumed_uniform.iter().map(String::as_str).collect();
    joined([
        format!("claim: {found}{cells}"),
        match claim.operation {
            Atomic::Counter(counter) => format!("by {counter:?}"),
            operation => format!("by {operation:?}"),
        },
        amount,
        format!("{} lanes", claim.lanes),
        if claim.is_certain {
            "certain"
        } else {
            "not certain"
        }
        .to_owned(),
        if claim.is_shared {
            "groupshared"
        } else {
            "on the device"
        }
        .to_owned(),
        parts,
        match &names[..] {
            [] => "assuming nothing".to_owned(),
            names => format!("assuming {}", names.join(" ")),
        },
    ])
}

fn access(access: &Access, place: &str) -> String {
    let verb = if access.is_write { "writes" } else { "reads" };
    format!("{} {verb} {place}", access.thread)
}

/// Where a run stopped, behind a word for the run.
fn stop(run: &str, stop: Option<&Stop>) -> Vec<String> {
    vec![stop.map_or(format!("{run}not stopped"), |stop| {
        format!("{run}stopped: {}", stop.reason)
    })]
}
