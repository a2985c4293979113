//! An append-only list that never moves its items.

/// The number of items in a piece.
const PIECE: usize = 1 << 14;

/// Grows only at its end. A `Vec` takes up to three times its items' memory while it moves them, and the terms
/// of a run take most of the program's memory.
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
    /// Drops all items and keeps the memory.
    pub fn clear(&mut self) {
        self.pieces.iter_mut().for_each(Vec::clear);
        self.last = 0;
    }

    /// The position of the next item to be pushed.
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

    /// Adds items that stay contiguous, and returns the position of the first.
    pub fn add(&mut self, items: &[T]) -> usize {
        let piece = self.piece_for(items.len());
        let offset = piece.len();
        piece.extend_from_slice(items);
        self.last * PIECE + offset
    }

    pub fn get(&self, at: usize) -> Option<&T> {
        self.pieces.get(at / PIECE)?.get(at % PIECE)
    }

    /// Items that one call of [`Pile::add`] added.
    pub fn slice(&self, first: usize, count: usize) -> &[T] {
        let offset = first % PIECE;
        let piece = self.pieces.get(first / PIECE);
        piece
            .and_then(|piece| piece.get(offset..offset + count))
            .unwrap_or_default()
    }

    /// The piece for the next `count` items. It holds at most [`PIECE`] items, unless one call adds more.
    fn piece_for(&mut self, count: usize) -> &mut Vec<T> {
        let has_room = |piece: &Vec<T>| piece.is_empty() || piece.len() + count <= PIECE;
        if !self.pieces.get(self.last).is_none_or(has_room) {
            self.last += 1;
        }
        if self.pieces.len() <= self.last {
            // The first piece grows on demand: most runs are short.
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
