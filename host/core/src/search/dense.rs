//! Brute-force vector search: exact enough, no index to build, and deletions apply immediately. An index pays off only
//! above about 300,000 rows.
//!
//! Vectors are stored as scaled bytes: 264 bytes per row of 256 dimensions, a quarter of the float size. The caller
//! stores the floats and [rescores](cosine) the best rows with them.

use super::dot::{DotProduct, LANE};

#[derive(Debug, Clone)]
pub struct VectorBlock {
    dimension: usize,
    /// Bytes per row: the dimension, padded with zeros to a multiple of [`LANE`].
    stride: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
    dot: DotProduct,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearestRow {
    pub row: usize,
    /// Cosine, within about .003 for vectors of unit length.
    pub cosine: f32,
}

impl VectorBlock {
    pub fn new(dimension: usize) -> Self {
        let stride = dimension.div_ceil(LANE).max(1) * LANE;
        Self { dimension, stride, values: Vec::new(), scales: Vec::new(), dot: DotProduct::detect() }
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Adds a row and returns its number. `None` if the dimension differs.
    pub fn push(&mut self, vector: &[f32]) -> Option<usize> {
        if vector.len() != self.dimension {
            return None;
        }
        let row = self.len();
        self.values.resize((row + 1) * self.stride, 0);
        self.scales.push(quantize(vector, &mut self.values[row * self.stride..]));
        Some(row)
    }

    /// Replaces a row. Returns `false` if the row does not exist or the dimension differs.
    pub fn set(&mut self, row: usize, vector: &[f32]) -> bool {
        if row >= self.len() || vector.len() != self.dimension {
            return false;
        }
        let place = row * self.stride..(row + 1) * self.stride;
        self.scales[row] = quantize(vector, &mut self.values[place]);
        true
    }

    /// Copies a row of another block and returns its new number. `None` if the row does not exist or the dimension
    /// differs.
    pub fn push_row(&mut self, other: &Self, row: usize) -> Option<usize> {
        if other.dimension != self.dimension || row >= other.len() {
            return None;
        }
        self.values.extend_from_slice(&other.values[row * self.stride..(row + 1) * self.stride]);
        self.scales.push(other.scales[row]);
        Some(self.len() - 1)
    }

    /// Returns the approximate cosine of each row, in row order; all 0 if `query` has another dimension.
    pub fn cosines(&self, query: &[f32]) -> Vec<f32> {
        if query.len() != self.dimension {
            return vec![0.0; self.len()];
        }
        let mut cosines = Vec::with_capacity(self.len());
        self.scan(query, |_| true, |_, cosine| cosines.push(cosine));
        cosines
    }

    /// Returns up to `limit` of the `allowed` rows, nearest first, ties by row. Empty if `query` has another dimension.
    pub fn nearest(&self, query: &[f32], allowed: Option<&RowSet>, limit: usize) -> Vec<NearestRow> {
        if query.len() != self.dimension || limit == 0 {
            return Vec::new();
        }
        let accept = |row| allowed.is_none_or(|rows| rows.contains(row));
        let order =
            |a: &NearestRow, b: &NearestRow| b.cosine.total_cmp(&a.cosine).then_with(|| a.row.cmp(&b.row));
        // Holds up to twice the limit, so that dropping the farther half takes constant time per row.
        let (mut best, mut worst) = (Vec::<NearestRow>::new(), None);
        self.scan(query, accept, |row, cosine| {
            let candidate = NearestRow { row, cosine };
            if worst.is_some_and(|worst| order(&candidate, &worst).is_gt()) {
                return;
            }
            best.push(candidate);
            if best.len() >= limit.saturating_mul(2) {
                let (_, last, _) = best.select_nth_unstable_by(limit - 1, order);
                worst = Some(*last);
                best.truncate(limit);
            }
        });
        best.sort_unstable_by(order);
        best.truncate(limit);
        best
    }

    /// Calls `visit` with each row that `accept` accepts and its approximate cosine.
    fn scan(&self, query: &[f32], accept: impl Fn(usize) -> bool, mut visit: impl FnMut(usize, f32)) {
        let mut bytes = vec![0; self.stride];
        let scale = quantize(query, &mut bytes);
        self.dot.scan(&bytes, &self.values, accept, |row, product| {
            visit(row, product as f32 * (self.scales[row] * scale));
        });
    }
}

/// A bit set of rows that pass a filter.
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

/// Quantizes a vector to -127..=127 and returns the scale, which ignores values that are not finite.
fn quantize(vector: &[f32], bytes: &mut [i8]) -> f32 {
    let largest = vector.iter().filter(|v| v.is_finite()).fold(0.0_f32, |largest, v| largest.max(v.abs()));
    let scale = largest / 127.0;
    for (byte, value) in bytes.iter_mut().zip(vector) {
        // `as` saturates and turns NaN into 0.
        *byte = if scale > 0.0 { (value / scale).round().clamp(-127.0, 127.0) as i8 } else { 0 };
    }
    scale
}

/// Returns the cosine of two unit vectors in full precision. `None` if the dimensions differ or the result is not
/// finite.
pub fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    if a.len() != b.len() {
        return None;
    }
    // A fixed order in double precision gives the same result on every machine.
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    sum.is_finite().then_some(sum as f32)
}

#[cfg(test)]
mod tests;
