//! Races at elements to which data lead, as in a histogram that is cleared and counted in without a barrier between.
//!
//! Which element a thread touches is not known, but if threads certainly touch every element of the array in the same
//! interval, it meets one of them wherever it is led. Whether that is another thread is seen by sampling what it reads:
//! each sample is an input for which the two meet. Elements of a thread's own, such as `g[gi * 4 + (word & 3)]`, never
//! lead to another one's.
//!
//! Of a plain write only reads are asked, and atomics: two writes may leave one value.
//!
//! One thing is taken for granted, as of all data: that the host does not choose them so that each thread is led to what
//! it touched itself.

use crate::machine::Machine;
use crate::memory::{Conflict, Led, Shared, Touches};
use crate::terms::column::Column;

/// Threads of one access that are looked at.
const MAX_THREADS: usize = 3;

impl Machine<'_> {
    /// Notes the threads that touch an array at elements that are not known.
    pub fn note_led(
        &mut self,
        number: usize,
        touches: Touches,
        (base, component): (&Column, u32),
        writes: bool,
    ) {
        let state = &mut self.state;
        let Some(array) = state.shared.get_mut(number).filter(|array| !array.on_device) else {
            return;
        };
        let led = state
            .active
            .threads()
            .filter(|thread| base.at(*thread).known().is_none());
        for thread in led.take(MAX_THREADS) {
            array.note_led(Led {
                touch: touches.of(thread, state.guard.row()),
                base: base.at(thread).clone(),
                component,
                writes,
            });
        }
    }

    /// The races of the interval that ends here, at elements to which data lead.
    pub fn meet_led(&mut self) {
        if self.prober.is_probing() || self.claims.is_some() || self.served.is_some() {
            return;
        }
        let conflicts = self
            .state
            .shared
            .iter()
            .filter(|array| !array.on_device)
            .flat_map(|array| {
                let led = array.led_in(self.state.interval).iter();
                led.filter_map(|led| Some((array.global, self.conflict_of(array, led)?)))
            });
        for (array, conflict) in conflicts.collect::<Vec<_>>() {
            self.conflict(array, conflict, None);
        }
    }

    fn conflict_of(&self, array: &Shared, led: &Led) -> Option<Conflict> {
        let interval = self.state.interval;
        let tracks = array.tracks();
        let size = self.components_of_element(array.global);
        let first = led.component as usize % size;
        let is_met = |cell: usize| tracks[cell].meets(interval, led).next().is_some();
        if !(first..tracks.len()).step_by(size).all(is_met) || !self.terms.has_data(&led.base) {
            return None;
        }
        let site = self.sites.get(led.touch.site as usize)?;
        let guard = site.guard.at(usize::from(led.touch.thread));
        let mut cells = self.terms.words_where(&led.base, guard);
        for cell in &mut cells {
            *cell = cell.saturating_add(led.component);
        }
        cells.retain(|cell| (*cell as usize) < tracks.len());
        // One that is always the same is no matter of data.
        if cells.iter().all(|cell| cells.first() == Some(cell)) {
            return None;
        }
        cells.iter().find_map(|&cell| {
            let mut met = tracks.get(cell as usize)?.meets(interval, led);
            let (other, other_writes) = met.find(|(other, _)| other.thread != led.touch.thread)?;
            let (mut first, mut second) = ((other, other_writes), (led.touch, led.writes));
            if first.0.site > second.0.site {
                std::mem::swap(&mut first, &mut second);
            }
            Some(Conflict {
                cell,
                first: first.0,
                second: second.0,
                first_writes: first.1,
                second_writes: second.1,
                doubtful: false,
                led: Some(led.touch.thread),
            })
        })
    }
}
