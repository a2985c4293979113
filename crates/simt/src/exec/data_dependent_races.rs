//! Races at elements that data select: threads count in a histogram while others clear it, or read it.
//!
//! The element that an `InterlockedAdd` goes to is not known. But if threads certainly touch every element of the
//! array in the same interval, other than by atomics, the atomic meets one of these accesses wherever it goes.
//! Sampling what the thread reads shows whether that access is another thread's: each sample is an input for which
//! the two meet.
//!
//! The element must depend on what is read and nothing else, so that equal data send all threads to the same element.
//! Then no thread keeps to elements of its own, as in `g[gi * 16 + key]`, which may be written so because keys are
//! less than 16.

use std::collections::BTreeSet;

use crate::exec::Machine;
use crate::exec::Observer;
use crate::exec::memory::{Conflict, DataDependent, Shared, Touch};
use crate::terms::column::Column;

/// How many threads of one access are noted.
const MAX_THREADS: usize = 3;

impl<O: Observer> Machine<'_, O> {
    /// Notes threads that add to unknown elements of an array.
    pub fn note_data_dependent(&mut self, number: usize, touch_of_all: Touch, base: &Column, component: u32) {
        if !self.tells_races() {
            return;
        }
        let state = &mut self.state;
        let Some(array) = state
            .shared
            .get_mut(number)
            .filter(|array| array.has_room_for_data_dependent())
        else {
            return;
        };
        // Each thread's element if everything it reads is 0.
        let mut begins = state
            .active
            .threads()
            .map(|thread| self.terms.word_of_zeros(base.at(thread)));
        let begin = begins.next().flatten();
        if begin.is_none() || !begins.all(|other| other == begin) {
            return;
        }
        for thread in state.active.threads().take(MAX_THREADS) {
            array.note_data_dependent(DataDependent {
                touch: touch_of_all.by(thread, state.guard.row()),
                base: base.at(thread).clone(),
                component,
            });
        }
    }

    /// Reports the races at data-dependent elements of the interval that ends here.
    pub fn report_data_dependent_races(&mut self) {
        if !self.tells_races() {
            return;
        }
        let conflicts = self.state.shared.iter().flat_map(|array| {
            let led = array.data_dependent_in(self.state.barriers.interval).iter();
            led.filter_map(|led| Some((array.global, self.conflict_of(array, led)?)))
        });
        for (array, conflict) in conflicts.collect::<Vec<_>>() {
            self.conflict(array, conflict, None);
        }
    }

    /// Whether this run reports races.
    fn tells_races(&self) -> bool {
        !self.observer.is_trying() && !self.over_approximates() && !self.mode.serves_lane_by_lane()
    }

    fn conflict_of(&self, array: &Shared, led: &DataDependent) -> Option<Conflict> {
        let interval = self.state.barriers.interval;
        let tracks = array.tracks();
        if !self.terms.has_data(&led.base) {
            return None;
        }
        let site = self.sites.get(led.touch.site as usize)?;
        let guard = site.guard.at(usize::from(led.touch.thread));
        let mut cells = self.terms.words_where(&led.base, guard);
        for (cell, _) in &mut cells {
            *cell = cell.saturating_add(led.component);
        }
        cells.retain(|(cell, _)| (*cell as usize) < tracks.len());
        // Data may choose the element, or a part of it, as in `g[key]` and in `g[0].counts[key]`: the cells that they may lead
        // to are those at the same places of any element.
        let size = self.cells_of_element(array.global);
        let parts: BTreeSet<u32> = cells.iter().map(|(cell, _)| cell % size).collect();
        let is_met = |cell: usize| tracks[cell].plain_in(interval).next().is_some();
        let mut led_to = parts
            .iter()
            .flat_map(|part| (*part as usize..tracks.len()).step_by(size as usize));
        if !led_to.all(is_met) {
            return None;
        }
        // An element that is always the same does not depend on data.
        let always = cells.first().map(|(cell, _)| *cell);
        if cells.iter().all(|(cell, _)| always == Some(*cell)) {
            return None;
        }
        cells.iter().find_map(|&(cell, seed)| {
            let mut met = tracks.get(cell as usize)?.plain_in(interval);
            let (other, other_writes) = met.find(|(other, _)| other.thread != led.touch.thread)?;
            let (mut first, mut second) = ((other, other_writes), (led.touch, true));
            if first.0.site > second.0.site {
                std::mem::swap(&mut first, &mut second);
            }
            Some(Conflict {
                cell,
                first: first.0,
                second: second.0,
                first_writes: first.1,
                second_writes: second.1,
                may_be_none: false,
                data_dependent: Some((led.touch.thread, seed)),
            })
        })
    }
}
