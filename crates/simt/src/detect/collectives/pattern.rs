//! Patterns in a row of values, one per element: a scan, windows of partial results, a total.

use crate::finding::Kind;
use crate::terms::operator::Operator;
use crate::terms::value::Value;

/// A scan in consecutive values of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub kind: Kind,
    /// Element i combines the elements to its right instead of those to its left.
    pub reversed: bool,
    pub operator: Operator,
    /// The atom of the first element; the elements' atoms are consecutive.
    pub first: u32,
    /// The number of elements, over all segments.
    pub count: u32,
    /// The number of elements after which the scan starts anew; `count` if it never does.
    pub segment: u32,
    /// The index of the first element in the row.
    pub at: u32,
}

impl Scan {
    /// All its elements combined.
    pub fn total(&self) -> Value {
        Value::Run {
            operator: self.operator,
            start: self.first,
            end: self.first + self.count,
        }
    }

    /// The exclusive scan whose total stands behind it, if `self` is an inclusive scan with the identity before
    /// it. Such a row holds both; sweeps make the exclusive one.
    pub fn with_identity_before(self, row: &[Value]) -> Scan {
        let before = self.at.checked_sub(1);
        let is_identity = |at: u32| row.get(at as usize) == Some(&Value::Known(self.operator.identity()));
        match before.filter(|at| is_identity(*at)) {
            Some(at) if self.kind == Kind::InclusiveScan && !self.reversed && self.segment == self.count => {
                Scan {
                    kind: Kind::ExclusiveScan,
                    at,
                    ..self
                }
            }
            _ => self,
        }
    }
}

/// A scan of fewer elements may be separate from the rest only by chance.
pub(crate) const LEAST: u32 = 8;

/// The least number of elements of a scan that covers all elements of an array: the lanes of the smallest wave.
const LEAST_OF_ALL: u32 = 4;

/// The least number of elements of a scan that leaves out other elements of the array: the lanes of most waves.
const WAVE: u32 = 32;

/// A run of atoms: the operator (`None` for a single atom), the first atom, and one past the last.
pub(crate) fn run(value: &Value) -> Option<(Option<Operator>, u32, u32)> {
    match value {
        Value::Run { operator, start, end } => Some(((end - start > 1).then_some(*operator), *start, *end)),
        _ => None,
    }
}

/// The scan with the most elements in a row: a multiple of `lanes`, the whole row, or all `length` elements
/// along an array's axis (a row may hold several axes). Part of a longer ladder may look like a scan of a
/// few elements until the ladder goes on. So for a few elements, the row must combine no other elements.
pub(crate) fn scan(row: &[Value], lanes: u32, length: u32) -> Option<Scan> {
    let mut scans: Vec<Scan> = Vec::new();
    let mut at = 0;
    while at < row.len() {
        let found = [
            forward(row, at, Kind::ExclusiveScan),
            forward(row, at, Kind::InclusiveScan),
        ];
        let found = found.into_iter().chain([backward(row, at)]).flatten();
        let longest = found.clone().map(|scan| scan.count).max();
        scans.extend(found);
        // Where an exclusive scan begins, an inclusive one may begin one element later.
        let is_known = row.get(at).is_some_and(|value| value.known().is_some());
        at += if is_known {
            1
        } else {
            longest.unwrap_or(1) as usize
        };
    }
    let mut candidates = scans.clone();
    for (index, scan) in scans.iter().enumerate() {
        if scan.segment < LEAST {
            continue;
        }
        let mut all = *scan;
        for next in &scans[index + 1..] {
            let continues = next.at == all.at + all.count && next.first == all.first + all.count;
            if continues
                && (next.kind, next.reversed, next.operator, next.count)
                    == (scan.kind, scan.reversed, scan.operator, scan.segment)
            {
                all.count += next.count;
            }
        }
        if all.count > scan.count {
            candidates.push(all);
        }
    }
    let is_multiple = |scan: &Scan| scan.count.is_multiple_of(lanes);
    // Part of a row may look like a scan in the middle of an unfinished ladder.
    let is_whole = |scan: &Scan| scan.count as usize == row.len() && scan.count >= LEAST;
    let is_all = |scan: &Scan| {
        scan.count == length
            && scan.count >= LEAST_OF_ALL
            && scan.segment == scan.count
            && scan.at.is_multiple_of(length)
            && row
                .iter()
                .all(|value| value.atom_count() <= 1 || is_of(value, scan))
    };
    // A scan of at least a wave's elements also counts, if the row combines no other elements.
    let is_alone = |scan: &Scan| {
        scan.count >= WAVE
            && scan.count.is_power_of_two()
            && scan.at.is_multiple_of(scan.count)
            && scan.segment == scan.count
            && row
                .iter()
                .all(|value| value.atom_count() <= 1 || is_of(value, scan))
    };
    candidates
        .into_iter()
        .filter(|scan| is_multiple(scan) || is_whole(scan) || is_all(scan) || is_alone(scan))
        .max_by_key(|scan| (is_multiple(scan), scan.count, std::cmp::Reverse(scan.at)))
}

/// Whether a partial result combines only elements of this scan.
fn is_of(value: &Value, scan: &Scan) -> bool {
    run(value).is_some_and(|(_, start, end)| scan.first <= start && end <= scan.first + scan.count)
}

/// The scan from the left that begins at `at`.
fn forward(row: &[Value], at: usize, kind: Kind) -> Option<Scan> {
    let row = row.get(at..)?;
    let shift = u32::from(kind == Kind::ExclusiveScan);
    let (_, first, end) = run(row.get(shift as usize)?)?;
    if end - first != 1 || (shift == 1 && row.first()?.known().is_none()) {
        return None;
    }
    let mut operator = None;
    let mut count = shift;
    for value in row.iter().skip(shift as usize) {
        match run(value) {
            Some((own, start, end)) if start == first && end - first == count + 1 - shift => {
                match (operator, own) {
                    (Some(known), Some(own)) if known != own => break,
                    (None, Some(own)) => operator = Some(own),
                    _ => {}
                }
                count += 1;
            }
            _ => break,
        }
    }
    let operator = operator?;
    (shift == 0 || *row.first()? == Value::Known(operator.identity())).then_some(Scan {
        kind,
        reversed: false,
        operator,
        first,
        count,
        segment: count,
        at: at as u32,
    })
}

/// The scan from the right that begins at `at`.
fn backward(row: &[Value], at: usize) -> Option<Scan> {
    let row = row.get(at..)?;
    let (operator, start, end) = run(row.first()?)?;
    let (operator, count) = (operator?, end - start);
    let holds = (start..end).zip(row).all(|(from, value)| {
        run(value).is_some_and(|(own, start, to)| {
            (start, to) == (from, end) && own.is_none_or(|own| own == operator)
        })
    });
    if !holds || row.len() < count as usize {
        return None;
    }
    let is_exclusive = row.get(count as usize) == Some(&Value::Known(operator.identity())) && start > 0;
    Some(Scan {
        kind: if is_exclusive {
            Kind::ExclusiveScan
        } else {
            Kind::InclusiveScan
        },
        reversed: true,
        operator,
        first: start - u32::from(is_exclusive),
        count: count + u32::from(is_exclusive),
        segment: count + u32::from(is_exclusive),
        at: at as u32,
    })
}

/// The row without the single atoms at its ends, except the last one at the start. Growing windows begin with
/// one element, and the cells beside them were not touched.
pub(crate) fn between_untouched(row: &[Value]) -> &[Value] {
    let stands_alone = |value: &&Value| run(value).is_some_and(|(_, start, end)| end - start == 1);
    let before = row.iter().take_while(stands_alone).count();
    let behind = row.iter().rev().take_while(stands_alone).count();
    row.get(before.saturating_sub(1)..row.len() - behind)
        .unwrap_or_default()
}

/// The totals of consecutive blocks of elements in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub operator: Operator,
    /// The atom of the first element; the elements' atoms are consecutive.
    pub first: u32,
    /// The number of elements of a block.
    pub length: u32,
    pub count: u32,
    /// The index of the first block's total in the row.
    pub at: u32,
}

/// The totals of two or more consecutive blocks of at least [`LEAST`] elements, a multiple of `lanes` together.
///
/// A row that combines elements of two blocks, or any elements in another way, is a longer ladder under way or a
/// transform: `is_element` tells the elements from values that derive from them otherwise, as in a sorted row.
pub(crate) fn blocks(row: &[Value], lanes: u32, is_element: impl Fn(u32) -> bool) -> Option<Blocks> {
    let runs = || row.iter().filter_map(run);
    let length = runs().map(|(_, start, end)| end - start).max()?;
    let (operator, ..) = runs().find(|(_, start, end)| end - start == length)?;
    let operator = operator.filter(|_| length >= LEAST)?;
    let is_total = |(_, start, end): &(_, u32, u32)| end - start == length;
    let mut starts: Vec<u32> = runs().filter(is_total).map(|(_, start, _)| start).collect();
    starts.sort_unstable();
    starts.dedup();
    let (first, count) = (*starts.first()?, u32::try_from(starts.len()).ok()?);
    let is_consecutive = starts
        .iter()
        .copied()
        .eq((first..).step_by(length as usize).take(starts.len()));
    let block = |atom: u32| atom.checked_sub(first).map(|offset| offset / length);
    let is_in_one = |own: Operator, start: u32, last: u32| {
        own == operator && block(start).is_some() && block(start) == block(last)
    };
    let of_block = |value: &Value| match value {
        Value::Known(_) => true,
        Value::Run { start, end, .. } if end - start == 1 => is_element(*start),
        Value::Run { operator, start, end } => is_in_one(*operator, *start, end - 1),
        Value::Sum(sum) => match (sum.parts.first(), sum.parts.last()) {
            (Some(first), Some(last)) => {
                let is_plain =
                    sum.operator.is_identity(sum.constant) && sum.parts.iter().all(|part| part.factor == 1);
                is_plain && is_in_one(sum.operator, first.start, last.end - 1)
            }
            _ => false,
        },
    };
    let is_all = count > 1 && (length * count).is_multiple_of(lanes);
    let at =
        |value: &Value| run(value).is_some_and(|(_, start, end)| (start, end - start) == (first, length));
    (is_all && is_consecutive && row.iter().all(of_block)).then_some(Blocks {
        operator,
        first,
        length,
        count,
        at: row.iter().position(at)? as u32,
    })
}

/// The width of the windows in a row, if all have one width (cut off at the first element).
pub(crate) fn window(row: &[Value]) -> Option<u32> {
    let count = u32::try_from(row.len()).ok()?;
    let (_, start, end) = run(row.last()?)?;
    let width = end - start;
    let exclusive = row.first().is_some_and(|value| value.known().is_some());
    let first = end.checked_sub(count - u32::from(exclusive))?;
    let operator = row.iter().rev().find_map(|value| run(value)?.0);
    (0u32..)
        .zip(row)
        .all(|(thread, value)| {
            let to = thread + u32::from(!exclusive);
            if to == 0 {
                return true;
            }
            run(value).is_some_and(|(own, start, end)| {
                end == first + to
                    && start == first + to.saturating_sub(width)
                    && (own.is_none() || own == operator)
            })
        })
        .then_some(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row by its runs, `a..b`; a number is a known word.
    fn row(values: &[(u32, u32)]) -> Vec<Value> {
        let value = |&(start, end): &(u32, u32)| match end {
            0 => Value::Known(start),
            _ => Value::Run {
                operator: Operator::Add,
                start,
                end,
            },
        };
        values.iter().map(value).collect()
    }

    /// The kind (`I` or `E`, lower case if reversed), index, count, segment and first atom.
    fn shown(values: &[(u32, u32)], lanes: u32) -> String {
        scan(&row(values), lanes, values.len() as u32).map_or("none".to_owned(), |scan| {
            let kind = match (scan.kind, scan.reversed) {
                (Kind::InclusiveScan, false) => "I",
                (Kind::InclusiveScan, true) => "i",
                (_, false) => "E",
                (_, true) => "e",
            };
            format!(
                "{kind} at {}: {} by {} from {}",
                scan.at, scan.count, scan.segment, scan.first
            )
        })
    }

    #[test]
    fn scans_are_told_apart() {
        assert_eq!(
            shown(&[(5, 6), (5, 7), (5, 8), (5, 9)], 4),
            "I at 0: 4 by 4 from 5"
        );
        assert_eq!(
            shown(&[(0, 0), (5, 6), (5, 7), (5, 8)], 4),
            "E at 0: 4 by 4 from 5"
        );
        assert_eq!(
            shown(&[(5, 9), (6, 9), (7, 9), (8, 9)], 4),
            "i at 0: 4 by 4 from 5"
        );
        assert_eq!(
            shown(&[(6, 9), (7, 9), (8, 9), (0, 0)], 4),
            "e at 0: 4 by 4 from 5"
        );
        // Padding before or after an inclusive scan is not an element.
        assert_eq!(
            shown(&[(0, 0), (5, 6), (5, 7), (5, 8), (5, 9)], 4),
            "I at 1: 4 by 4 from 5"
        );
        assert_eq!(
            shown(&[(5, 6), (5, 7), (5, 8), (5, 9), (0, 0)], 4),
            "I at 0: 4 by 4 from 5"
        );
        // The wrong identity, a missing element, or one out of place.
        assert_eq!(shown(&[(1, 0), (5, 6), (5, 7), (5, 8)], 4), "none");
        assert_eq!(shown(&[(5, 6), (5, 7), (5, 8)], 4), "none");
        assert_eq!(shown(&[(5, 6), (5, 7), (5, 9), (5, 8)], 4), "none");
    }

    #[test]
    fn all_of_a_short_array_is_scanned_on_purpose() {
        let few = [(5, 6), (5, 7), (5, 8), (5, 9)];
        let half = [(1, 2), (5, 7), (2, 3), (3, 4)];
        let other = [(1, 2), (2, 4), (2, 3), (3, 4)];
        let shown = |values: &[(u32, u32)]| {
            let found = scan(&row(values), 64, 4);
            found.map(|scan| (scan.at, scan.count))
        };
        assert_eq!(shown(&few), Some((0, 4)));
        assert_eq!(shown(&[few, half].concat()), Some((0, 4)));
        assert_eq!(shown(&[half, few].concat()), Some((4, 4)));
        // Other elements are combined too, or these are not all elements of the row.
        assert_eq!(shown(&[few, other].concat()), None);
        assert_eq!(shown(&[&half[..2], &few[..], &half[2..]].concat()), None);
        assert_eq!(shown(&few[..3]), None);
    }

    #[test]
    fn blocks_hold_one_total_each() {
        let ladder = |block: u32| {
            let cell = move |i: u32| match i {
                0 => (8 * block, 8 * block + 8),
                1..4 => (8 * block + i, 8 * block + i + 2),
                _ => (8 * block + i, 8 * block + i + 1),
            };
            (0..8).map(cell)
        };
        let found = |values: &[(u32, u32)], elements: u32| {
            let found = blocks(&row(values), 32, |atom| atom < elements);
            found.map(|found| (found.first, found.length, found.count, found.at))
        };
        let all: Vec<(u32, u32)> = (0..4).flat_map(ladder).collect();
        assert_eq!(found(&all, 32), Some((0, 8, 4, 0)));
        // Too few blocks; a value that derives from the elements otherwise; elements of two blocks.
        assert_eq!(found(&all[..24], 32), None);
        assert_eq!(found(&all, 31), None);
        let mut wide = all.clone();
        wide[9] = (7, 9);
        assert_eq!(found(&wide, 32), None);
        wide[9] = (0, 16);
        assert_eq!(found(&wide, 32), None);
        // Blocks below the least length.
        let pairs: Vec<(u32, u32)> = (0..16)
            .flat_map(|b| [(2 * b, 2 * b + 2), (2 * b + 1, 2 * b + 2)])
            .collect();
        assert_eq!(found(&pairs, 32), None);
    }

    #[test]
    fn segments_are_put_together() {
        let segments: Vec<(u32, u32)> = (0..4)
            .flat_map(|s| (1..=8).map(move |i| (8 * s, 8 * s + i)))
            .collect();
        assert_eq!(shown(&segments, 32), "I at 0: 32 by 8 from 0");
        assert_eq!(shown(&segments[..24], 32), "I at 0: 24 by 8 from 0");
        // The first rung of a ladder is not a scan of pairs.
        let pairs: Vec<(u32, u32)> = (0..16)
            .flat_map(|s| [(2 * s, 2 * s + 1), (2 * s, 2 * s + 2)])
            .collect();
        assert_eq!(shown(&pairs, 32), "none");
    }
}
