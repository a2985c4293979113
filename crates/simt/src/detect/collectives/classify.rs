//! Classifies a candidate: which scan or total its elements end in.

use shaderlint_hlsl::Scalar;

use crate::detect::Detectors;
use crate::detect::collectives::atoms::Atoms;
use crate::detect::collectives::executed::Executed;
use crate::detect::collectives::leftover_places::Total;
use crate::detect::collectives::partial_results::{Row, Watch, borrowed, row_length};
use crate::detect::collectives::pattern;
use crate::detect::collectives::pattern::Scan;
use crate::detect::collectives::result_merging::{Pattern, Several};
use crate::detect::collectives::rewrite::Results;
use crate::exec::Machine;
use crate::exec::memory::Shared;
use crate::facts::effects::Effects;
use crate::finding::leftovers::Leftovers;
use crate::finding::{Collective, Companions, Elements, Kind, Obstacle, Order, Rewrite, Shape};
use crate::terms::Term;
use crate::terms::packed16::Half;
use crate::terms::value::{Op, Value};

impl Machine<'_, Detectors> {
    /// The collective that the candidate's statements compute, if it has a known form. Works out a rewrite only
    /// for the wanted kinds and numbers of elements.
    pub fn classify(
        &mut self,
        atoms: &Atoms,
        ran: Executed<'_>,
        effects: &Effects,
        is_wanted: &dyn Fn(Kind, u32) -> bool,
    ) -> Option<Collective> {
        let watch = self.observer.prober.watch.take()?;
        let halves: &[Option<Half>] = if self.terms.has_halves(atoms.first) {
            &[None, Some(Half::High), Some(Half::Low)]
        } else {
            &[None]
        };
        let collective = halves
            .iter()
            .find_map(|half| self.classify_watched(&watch, *half, atoms, ran, effects, is_wanted));
        self.observer.prober.watch = Some(watch);
        collective
    }

    /// Whether the candidate keeps something that it computed from elements beside the least or greatest, such
    /// as its position. A wave's minimum alone does not give that. Everything was an atom when the candidate
    /// began, so an operation on atoms is the candidate's own.
    fn has_companions(&self, rows: &[Row<'_>]) -> bool {
        let is_operation = |atom: u32| matches!(self.terms.term(atom), Some(Term::Apply(_, [_, ..])));
        let values = rows.iter().flat_map(|(_, _, row)| row.iter());
        values.flat_map(Value::runs).flatten().any(is_operation)
    }

    /// These companions, and the order in which the elements were compared. `None` unless they are a choice of
    /// one element by that order alone.
    fn companions(&self, watch: &Watch, atoms: &Atoms, main: &Pattern) -> Option<Companions> {
        let Elements::Cell { index, .. } = main.output else {
            return None;
        };
        let mut components = Vec::new();
        let mut order = None;
        for array in &self.state.shared {
            let Some(layout) = watch.layouts.array(array.global) else {
                continue;
            };
            for component in 0..layout.width() {
                let cell = array.cells().get(layout.cell(index as usize, component));
                let Some(cell @ Value::Run { start, end, .. }) = cell else {
                    continue;
                };
                if atoms.is_untouched(array.global, component, index, cell) || *end - *start > 1 {
                    continue;
                }
                let mut chosen = Vec::new();
                self.note_chosen(cell, atoms, main.count, &mut chosen)?;
                let of_cell = order_of(&chosen, main.count)?;
                if *order.get_or_insert(of_cell) != of_cell {
                    return None;
                }
                components.push((array.global, component));
            }
        }
        Some(Companions {
            components,
            order: order?,
        })
    }

    /// Adds the numbers of the elements that a choice chooses from, in the order in which equal ones are
    /// preferred. A choice takes the later element only if its key is better. A known word is taken for the number of
    /// its element: kernels carry positions along. The order is only what a wave form tries; its proof does not use
    /// it.
    fn note_chosen(&self, value: &Value, atoms: &Atoms, most: u32, chosen: &mut Vec<u32>) -> Option<()> {
        if chosen.len() >= most as usize {
            return None;
        }
        let atom = match value {
            Value::Known(number) => {
                chosen.push(*number);
                return Some(());
            }
            Value::Run { start, end, .. } if end - start == 1 => *start,
            _ => return None,
        };
        match self.terms.term(atom)? {
            Term::Input { .. } => chosen.push(atoms.place_of(atom)?),
            Term::Apply(Op::Select, [_, later, earlier]) => {
                for of in [earlier, later] {
                    self.note_chosen(of, atoms, most, chosen)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The scan at the start of a tile. The kernel does not state a resource's size: a ladder may run past
    /// the end of its elements, where the device drops stores, and scan on there.
    fn scan_of_start(&self, place: &Elements, row: &[Value]) -> Option<Scan> {
        let is_tile =
            |array: &Shared| matches!(place, Elements::Array { global, .. } if array.global == *global);
        let array = self.state.shared.iter().find(|array| is_tile(array))?;
        [2, 1].into_iter().filter(|_| array.on_device).find_map(|times| {
            let start = row.get(..times * self.lanes)?;
            pattern::scan(start, self.lanes as u32, row.len() as u32)
        })
    }

    /// The scans that the candidate computed.
    fn scans(&self, watch: &Watch, atoms: &Atoms, rows: &[Row<'_>]) -> Vec<Pattern> {
        let lanes = self.lanes as u32;
        let is_swept = watch.before_scan >= lanes;
        let mut scans: Vec<Pattern> = Vec::new();
        for (place, scalar, row) in rows {
            let length = row_length(watch, place, row);
            let found = pattern::scan(row, lanes, length).or_else(|| self.scan_of_start(place, row));
            let found = found.map(|scan| {
                if is_swept {
                    scan.with_identity_before(row)
                } else {
                    scan
                }
            });
            let found = found.and_then(|scan| Some((scan, at(place, scan.at)?, scan.total())));
            let found = found.or_else(|| spread_scan(atoms, place, row, lanes, is_swept));
            let Some((scan, output, total)) = found.filter(|(scan, ..)| scan.operator.is_on(*scalar)) else {
                continue;
            };
            if let Some(input) = scan_input(atoms, &scan, &output) {
                scans.push(Pattern {
                    kind: scan.kind,
                    reversed: scan.reversed,
                    operator: scan.operator,
                    element: *scalar,
                    first: scan.first,
                    count: scan.count,
                    segment: scan.segment,
                    blocks: 1,
                    input,
                    output,
                    total,
                });
            }
        }
        scans
    }

    fn classify_watched(
        &mut self,
        watch: &Watch,
        half: Option<Half>,
        atoms: &Atoms,
        ran: Executed<'_>,
        effects: &Effects,
        is_wanted: &dyn Fn(Kind, u32) -> bool,
    ) -> Option<Collective> {
        let lanes = self.lanes as u32;
        let halved = half.map(|half| self.rows_in_half(watch, half));
        let mut rows = match &halved {
            Some(rows) => borrowed(rows),
            None => self.rows(watch),
        };
        rows.retain(|(place, ..)| match place {
            Elements::Register { local, .. } => !effects.declared.contains(local),
            _ => true,
        });
        let mut patterns = self.scans(watch, atoms, &rows);
        let most = patterns.iter().map(|scan| scan.count).max();
        let main = if let Some(first) = patterns.iter().position(|scan| Some(scan.count) == most) {
            patterns.remove(first)
        } else {
            patterns = totals(watch, atoms, &rows, lanes, half.is_none());
            if patterns.is_empty() {
                return None;
            }
            patterns.remove(0)
        };
        let has_companions = main.operator.is_extremum() && self.has_companions(&rows);
        let companions = has_companions
            .then(|| self.companions(watch, atoms, &main))
            .flatten()
            .filter(|_| patterns.is_empty());
        let several = Several::of(self.shader, self.state.frame.function, &main, &patterns);
        let main_output = main.output.clone();
        let totals = several.totals(&main);
        let whole = |place: Elements| match several.vector {
            Some(_) => place.with_component(None),
            None => place,
        };
        let (shape, rounds) = shape(watch, main.kind, lanes.min(main.count));
        // The last step may be in a place whose partial results were not watched.
        let is_unwatched = matches!(main.output, Elements::Expression { .. })
            && watch.widths.last().is_none_or(|widest| *widest < main.count);
        let rounds = rounds + u32::from(is_unwatched);
        let mut collective = Collective {
            kind: main.kind,
            operator: main.operator,
            element: main.element,
            vector: several.vector,
            half,
            input: whole(main.input),
            output: whole(main.output),
            count: main.count,
            segment: main.segment,
            blocks: main.blocks,
            reversed: main.reversed,
            shape,
            rounds,
            barriers: watch.barriers,
            barrier_spans: watch.barrier_spans.clone(),
            orders_device: watch.orders_device,
            arrays: effects
                .shared_read
                .union(&effects.shared_written)
                .copied()
                .collect(),
            beside: several.beside,
            companions,
            span: ran.span(),
            function: self.state.frame.function,
            instances: Vec::new(),
            tiles: Vec::new(),
            assumes_convergence: false,
            needs: self.terms.needs.get(),
            amid: None,
            rewrite: Err(Obstacle::ElementsPerThread),
            leftovers: Leftovers::default(),
        };
        if collective.kind != Kind::Reduction {
            let outputs = patterns.iter().filter(|other| other.count == main.count);
            let outputs = std::iter::once(&main_output).chain(outputs.map(|other| &other.output));
            collective.leftovers.result = self.places_of_scans(watch, outputs, main.count, half.is_none());
        }
        if collective.kind == Kind::Reduction && half.is_none() {
            let totals: Vec<Total> = { several.ranges.iter() }
                .map(|(first, end)| Total {
                    operator: main.operator,
                    first: *first,
                    end: *end,
                })
                .collect();
            if totals.iter().any(|total| self.stores_a_part(watch, *total)) {
                return None;
            }
            collective.leftovers = self.leftovers_of_total(watch, &collective, &totals, has_companions);
        }
        collective.rewrite = if !is_wanted(collective.kind, collective.count) {
            Err(Obstacle::SomeRuns)
        } else if half.is_some() {
            Err(Obstacle::Halves)
        } else if has_companions && collective.companions.is_none() {
            Err(Obstacle::Companions)
        } else {
            self.rewrite_of(watch, ran, &collective, several.also, &totals)
        };
        Some(collective)
    }

    /// How code can take the construct's place. Wave forms exist for a total, and for a scan with at most two elements
    /// per thread. `also` are other places of the result, and `totals` are all elements
    /// combined, one for each component.
    fn rewrite_of(
        &mut self,
        watch: &Watch,
        ran: Executed<'_>,
        collective: &Collective,
        also: Vec<Elements>,
        totals: &[Value],
    ) -> Result<Rewrite, Obstacle> {
        let lanes = self.lanes as u32;
        let is_scan = collective.kind != Kind::Reduction;
        if is_scan && collective.segment != collective.count {
            return Err(Obstacle::Segmented(collective.segment));
        }
        if is_scan && collective.count > lanes && collective.count != 2 * lanes {
            return Err(Obstacle::ElementsPerThread);
        }
        let Collective {
            input,
            output,
            beside,
            ..
        } = collective;
        let results = Results {
            output,
            also,
            beside,
            total: totals.first().filter(|_| is_scan),
        };
        let rewrite = self.rewrite(watch, ran, results, &[]);
        rewrite.or_else(|obstacle| {
            let is_one = !is_scan && beside.is_empty();
            let before = is_one.then(|| self.rewrite_before_last_step(watch, ran, input, output, totals));
            before.flatten().ok_or(obstacle)
        })
    }
}

/// The shape, and the number of rounds in which partial results grew.
fn shape(watch: &Watch, kind: Kind, elements: u32) -> (Shape, u32) {
    let doubles = |widths: &[u32]| {
        let last = widths.last().copied().unwrap_or(1);
        (1u32..)
            .zip(widths)
            .all(|(round, width)| *width == (1 << round.min(31)).min(last))
    };
    let is_ladder = doubles(&watch.windows) && watch.windows.last().is_some_and(|last| last + 1 >= elements);
    let shape = match kind {
        Kind::InclusiveScan | Kind::ExclusiveScan if is_ladder => {
            return (Shape::Doubling, watch.windows.len() as u32);
        }
        Kind::InclusiveScan | Kind::ExclusiveScan if watch.before_scan >= elements => Shape::Sweeps,
        _ if watch.widths.len() <= 1 => Shape::Serial,
        _ if doubles(&watch.widths) => Shape::Tree,
        _ => Shape::Other,
    };
    (shape, watch.widths.len() as u32)
}

/// The place from `element` on. `None` for a variable unless it starts at the first thread, as there is no name
/// for that.
fn at(place: &Elements, element: u32) -> Option<Elements> {
    Some(match place {
        Elements::Array {
            global,
            component,
            axis,
            ..
        } => Elements::Array {
            global: *global,
            offset: element,
            component: *component,
            axis: *axis,
        },
        other => (element == 0).then(|| other.clone())?,
    })
}

/// The place of a scan's elements.
fn scan_input(atoms: &Atoms, scan: &Scan, output: &Elements) -> Option<Elements> {
    match output {
        Elements::Spread { .. } => Some(output.clone()),
        _ => atoms.elements(scan.first, scan.count),
    }
}

/// The least shift of padding: a lane takes up to four consecutive elements, which padding must not separate.
const LEAST_SHIFT: u32 = 2;

/// A scan in a row with gaps. A gap is a cell that was not written and whose value went into nothing else. The
/// other atoms are renumbered in order. The third result is all of them combined, in the original atoms.
fn spread_scan(
    atoms: &Atoms,
    place: &Elements,
    row: &[Value],
    lanes: u32,
    is_swept: bool,
) -> Option<(Scan, Elements, Value)> {
    let Elements::Array {
        global, component, ..
    } = place
    else {
        return None;
    };
    let component = usize::from(component.unwrap_or(0));
    let is_own = |(index, cell): &(u32, &Value)| atoms.is_untouched(*global, component, *index, cell);
    let touched = (0u32..).zip(row).filter(|cell| !is_own(cell));
    let (input, ranks) = atoms.of_one_array(touched.flat_map(|(_, cell)| cell.atoms()))?;
    let rank = |atom: u32| ranks.binary_search(&atom).ok().map(|rank| rank as u32);
    let renumbered = |value: &Value| -> Option<Value> {
        let (operator, start, end) = match value {
            Value::Known(_) => return Some(value.clone()),
            Value::Run { operator, start, end } => (*operator, *start, *end),
            Value::Sum(sum) => {
                let is_plain =
                    sum.constant == sum.operator.identity() && sum.parts.iter().all(|part| part.factor == 1);
                let (first, last) = (sum.parts.first()?, sum.parts.last()?);
                is_plain.then_some((sum.operator, first.start, last.end))?
            }
        };
        let (start, last) = (rank(start)?, rank(end - 1)?);
        (last + 1 - start == value.atom_count()).then_some(Value::Run {
            operator,
            start,
            end: last + 1,
        })
    };
    let is_of_row = |(index, cell): &(u32, &Value)| {
        let is_gap = atoms.is_untouched(*global, component, *index, cell);
        !(is_gap && matches!(cell, Value::Run { start, .. } if rank(*start).is_none()))
    };
    let (cells, dense): (Vec<u32>, Vec<&Value>) = (0u32..).zip(row).filter(is_of_row).unzip();
    let dense: Option<Vec<Value>> = dense.into_iter().map(renumbered).collect();
    // A cell or two that a scan leaves out are not padding.
    let dense = dense?;
    let scan = pattern::scan(&dense, lanes, lanes).filter(|scan| scan.count.is_multiple_of(lanes))?;
    let scan = if is_swept {
        scan.with_identity_before(&dense)
    } else {
        scan
    };
    // No partial result contains the last element of an exclusive scan. It must come from a cell beyond the
    // others.
    let mut of_scan = ranks;
    if scan.kind == Kind::ExclusiveScan {
        let (lowest, highest) = (*of_scan.first()?, *of_scan.last()?);
        let (lowest_place, highest_place) = (atoms.place_of(lowest)?, atoms.place_of(highest)?);
        let beyond = |place: u32| {
            if scan.reversed {
                place < lowest_place
            } else {
                place > highest_place
            }
        };
        let is_rewritten = |(place, cell): &(u32, &Value)| {
            beyond(*place) && !atoms.is_untouched(*global, component, *place, cell)
        };
        let (place, _) = (0u32..).zip(row).find(is_rewritten)?;
        if (of_scan.len() as u32) < scan.count {
            let at = if scan.reversed { 0 } else { of_scan.len() };
            of_scan.insert(at, atoms.beside(highest, place)?);
        }
    }
    let elements = of_scan.get(scan.first as usize..(scan.first + scan.count) as usize)?;
    let places: Option<Vec<u32>> = elements.iter().map(|atom| atoms.place_of(*atom)).collect();
    let places = places?;
    // The results must lie where the elements were.
    if input != *global || cells.get(scan.at as usize..(scan.at + scan.count) as usize)? != places {
        return None;
    }
    let shift = (LEAST_SHIFT..u32::BITS).find(|shift| {
        let of_shift = (0u32..).map(|element| element + (element >> shift));
        of_shift.take(places.len()).eq(places.iter().copied())
    });
    let total = Value::of_atoms(scan.operator, elements);
    Some((scan, Elements::Spread { global: input, shift }, total))
}

/// The totals that the candidate computed: in the rows, or else among the noticed values if `counts_noticed`.
fn totals(watch: &Watch, atoms: &Atoms, rows: &[Row<'_>], lanes: u32, counts_noticed: bool) -> Vec<Pattern> {
    let in_rows = rows
        .iter()
        .flat_map(|(place, scalar, row)| totals_of_row(atoms, place, *scalar, row, lanes));
    let in_rows: Vec<Pattern> = in_rows.collect();
    if !in_rows.is_empty() || !counts_noticed {
        return in_rows;
    }
    let total_of = |(place, scalar, value): &(Elements, Scalar, Value)| {
        total(atoms, place, *scalar, std::slice::from_ref(value), lanes)
    };
    // The value of a variable is noticed as an expression first.
    let is_named = |pattern: &Pattern| !matches!(pattern.output, Elements::Expression { .. });
    let mut noticed = watch.noticed.iter().filter_map(total_of);
    let Some(first) = noticed.next() else {
        return totals_of_blocks(atoms, rows, lanes);
    };
    let named = noticed.find(is_named).filter(|_| !is_named(&first));
    let main = named.unwrap_or(first);
    let is_of_main = |other: &Pattern| {
        other.output != main.output && other.output.with_component(None) == main.output.with_component(None)
    };
    let mut all: Vec<Pattern> = Vec::new();
    for other in watch.noticed.iter().filter_map(total_of).filter(is_of_main) {
        if all.iter().all(|known| known.output != other.output) {
            all.push(other);
        }
    }
    all.insert(0, main);
    all
}

/// The totals of blocks in the rows. A noticed value counts for nothing here: the last step of a whole ladder passes
/// through the totals of its blocks.
fn totals_of_blocks(atoms: &Atoms, rows: &[Row<'_>], lanes: u32) -> Vec<Pattern> {
    rows.iter()
        .filter_map(|(place, scalar, row)| block_totals(atoms, place, *scalar, row, lanes))
        .collect()
}

/// The order of the chosen elements, if it contains each of them once.
fn order_of(chosen: &[u32], count: u32) -> Option<Order> {
    let is_in = |order: &Order| {
        let number = |at: u32| match order {
            Order::Ascending => at,
            Order::BitReversed => at.reverse_bits() >> count.leading_zeros() >> 1,
        };
        chosen.iter().copied().eq((0..count).map(number))
    };
    [Order::Ascending, Order::BitReversed].into_iter().find(is_in)
}

/// The totals that this place holds: the first, and those of as many further elements.
fn totals_of_row(
    atoms: &Atoms,
    place: &Elements,
    element: Scalar,
    row: &[Value],
    lanes: u32,
) -> Vec<Pattern> {
    let mut totals: Vec<Pattern> = Vec::new();
    totals.extend(total(atoms, place, element, row, lanes));
    if let (Some(first), Elements::Array { .. }) = (totals.first(), place) {
        let (operator, count) = (first.operator, first.count);
        let further = (0u32..).zip(row).filter_map(|(index, value)| {
            let is_alike = |of: &Value| {
                pattern::run(of)
                    .is_some_and(|(own, start, end)| own == Some(operator) && end - start == count)
            };
            let found = is_alike(value)
                .then(|| total(atoms, place, element, std::slice::from_ref(value), lanes))??;
            let output = place_of_total(place, row, index);
            Some(Pattern { output, ..found })
        });
        for found in further {
            let is_new = |known: &Pattern| found.first.abs_diff(known.first) >= count;
            if totals.iter().all(is_new) {
                totals.push(found);
            }
        }
    }
    totals
}

/// The total that this place holds, if it combines all elements of another place.
fn total(atoms: &Atoms, place: &Elements, element: Scalar, row: &[Value], lanes: u32) -> Option<Pattern> {
    let is_total = |value: &Value| {
        let (operator, first, end) =
            pattern::run(value).filter(|(operator, ..)| operator.is_some_and(|o| o.is_on(element)))?;
        let count = end - first;
        let input = atoms.elements(first, count)?;
        let is_all = count.is_multiple_of(lanes) || atoms.are_all(first, count);
        is_all.then_some((operator?, first, count, input))
    };
    let (index, (operator, first, count, input)) = (0u32..)
        .zip(row)
        .find_map(|(index, value)| Some((index, is_total(value)?)))?;
    Some(Pattern {
        kind: Kind::Reduction,
        reversed: false,
        operator,
        element,
        first,
        count,
        segment: count,
        blocks: 1,
        input,
        output: place_of_total(place, row, index),
        total: Value::Run {
            operator,
            start: first,
            end: first + count,
        },
    })
}

/// The totals that this place holds of each block of elements of another place.
fn block_totals(
    atoms: &Atoms,
    place: &Elements,
    element: Scalar,
    row: &[Value],
    lanes: u32,
) -> Option<Pattern> {
    let found = pattern::blocks(row, lanes, |atom| atoms.place_of(atom).is_some())?;
    atoms.elements(found.first, found.length * found.count)?;
    found.operator.is_on(element).then_some(())?;
    Some(Pattern {
        kind: Kind::Reduction,
        reversed: false,
        operator: found.operator,
        element,
        first: found.first,
        count: found.length,
        segment: found.length,
        blocks: found.count,
        input: atoms.elements(found.first, found.length)?,
        output: place_of_total(place, row, found.at),
        total: Value::Run {
            operator: found.operator,
            start: found.first,
            end: found.first + found.length,
        },
    })
}

/// The place of the total at `index` of a row.
fn place_of_total(place: &Elements, row: &[Value], index: u32) -> Elements {
    match place {
        Elements::Array {
            global,
            component,
            axis,
            ..
        } => Elements::Cell {
            global: *global,
            index,
            component: *component,
            axis: *axis,
        },
        Elements::Register { local, component } if row.iter().any(|value| *value != row[index as usize]) => {
            Elements::OneRegister {
                local: *local,
                component: *component,
                thread: index,
            }
        }
        other => other.clone(),
    }
}
