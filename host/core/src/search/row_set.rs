//! A bit set of rows that pass a filter.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    pub fn insert(&mut self, row: usize) {
        if row / 64 >= self.words.len() {
            self.words.resize(row / 64 + 1, 0);
        }
        self.words[row / 64] |= 1 << (row % 64);
    }

    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word & (1 << (row % 64)) != 0)
    }

    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}

impl FromIterator<usize> for RowSet {
    fn from_iter<I: IntoIterator<Item = usize>>(rows: I) -> Self {
        let mut set = Self::default();
        rows.into_iter().for_each(|row| set.insert(row));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_across_words() {
        let rows: RowSet = [0, 63, 64, 200].into_iter().collect();
        assert_eq!(rows.count(), 4);
        for row in 0..300 {
            assert_eq!(rows.contains(row), [0, 63, 64, 200].contains(&row), "{row}");
        }
        assert_eq!(RowSet::default().count(), 0);
    }
}
