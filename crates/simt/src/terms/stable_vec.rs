//! A list that is never moved as it grows.

/// Items are kept in pieces of this many.
const PIECE: usize = 1 << 14;

/// Grows at its end alone. A vector holds up to three times its items while it moves them, and a run's terms are most of
/// what the program needs memory for.
pub(crate) struct Pile<T> {
    pieces: Vec<Vec<T>>,
    /// The piece that is being filled.
    last: usize,
}

impl<T> Default for Pile<T> {
    fn default() -> Self {
        Pile {
            pieces: Vec::new(),
            last: 0,
        }
    }
}

impl<T: Clone> Pile<T> {
    /// Without items: the memory is kept.
    pub fn clear(&mut self) {
        self.pieces.iter_mut().for_each(Vec::clear);
        self.last = 0;
    }

    /// Where the next item goes that is pushed.
    pub fn end(&self) -> usize {
        let filled = self.pieces.get(self.last).map_or(0, Vec::len);
        if filled < PIECE {
            self.last * PIECE + filled
        } else {
            (self.last + 1) * PIECE
        }
    }

    pub fn push(&mut self, item: T) {
        self.piece_for(1).push(item);
    }

    /// Adds items that stay together; where the first of them is.
    pub fn add(&mut self, items: &[T]) -> usize {
        let piece = self.piece_for(items.len());
        let offset = piece.len();
        piece.extend_from_slice(items);
        self.last * PIECE + offset
    }

    pub fn get(&self, at: usize) -> Option<&T> {
        self.pieces.get(at / PIECE)?.get(at % PIECE)
    }

    /// Items that were added together.
    pub fn slice(&self, first: usize, count: usize) -> &[T] {
        let offset = first % PIECE;
        let piece = self.pieces.get(first / PIECE);
        piece
            .and_then(|piece| piece.get(offset..offset + count))
            .unwrap_or_default()
    }

    /// The piece that so many items go to: there are no more than [`PIECE`] in one, but for more that are added at once.
    fn piece_for(&mut self, count: usize) -> &mut Vec<T> {
        let has_room = |piece: &Vec<T>| piece.is_empty() || piece.len() + count <= PIECE;
        if !self.pieces.get(self.last).is_none_or(has_room) {
            self.last += 1;
        }
        if self.pieces.len() <= self.last {
            // The first grows with what it holds: most runs are short.
            let capacity = if self.last == 0 { 0 } else { PIECE };
            self.pieces.push(Vec::with_capacity(capacity));
        }
        let last = self.last.min(self.pieces.len() - 1);
        &mut self.pieces[last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_where_they_were_put() {
        let mut pile = Pile::default();
        for item in 0..3 * PIECE {
            assert_eq!(pile.end(), item);
            pile.push(item);
        }
        assert!((0..3 * PIECE).all(|item| pile.get(item) == Some(&item)));
        assert_eq!(pile.get(3 * PIECE), None);
        pile.clear();
        assert_eq!((pile.end(), pile.get(0)), (0, None));
        pile.push(7);
        assert_eq!(pile.get(0), Some(&7));
    }

    #[test]
    fn what_is_added_together_stays_together() {
        let mut pile = Pile::default();
        let lists = [3, PIECE - 2, 1, 0, PIECE + 5, 2, 0, PIECE];
        let lists: Vec<Vec<usize>> = lists.into_iter().map(|count| (0..count).collect()).collect();
        let places: Vec<usize> = lists.iter().map(|list| pile.add(list)).collect();
        for (list, place) in lists.iter().zip(places) {
            assert_eq!(pile.slice(place, list.len()), list);
        }
    }
}
