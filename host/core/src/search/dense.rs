//! Search by meaning: every row is looked at. Exact enough, nothing to build, gone at once when deleted; up to
//! some 300,000 rows nothing else pays.
//!
//! Vectors are kept as bytes with a scale each, in one block: 264 bytes a row of 256 dimensions, a quarter of
//! what floats need. The best rows by bytes are then [rescored](cosine) with the floats, which live wherever
//! the caller keeps them.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    RowSet,
    dot::{DotProduct, LANE},
};

/// Rows of vectors, all of one dimension.
#[derive(Debug, Clone)]
pub struct VectorBlock {
    dimension: usize,
    /// Bytes of a row: the dimension and zeros up to a multiple of [`LANE`].
    stride: usize,
    values: Vec<i8>,
    /// What the bytes of a row are to be multiplied by.
    scales: Vec<f32>,
    dot: DotProduct,
}

/// A row and how near it is by its bytes; more is nearer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearestRow {
    /// Its number.
    pub row: usize,
    /// The cosine to within some .003, where both vectors have unit length.
    pub cosine: f32,
}

impl VectorBlock {
    /// No rows, for vectors of this dimension.
    pub fn new(dimension: usize) -> Self {
        let stride = dimension.div_ceil(LANE).max(1) * LANE;
        Self { dimension, stride, values: Vec::new(), scales: Vec::new(), dot: DotProduct::best() }
    }

    /// The dimension of its vectors.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Adds a row; gives its number, or none where the vector has another dimension.
    pub fn push(&mut self, vector: &[f32]) -> Option<usize> {
        if vector.len() != self.dimension {
            return None;
        }
        let row = self.len();
        self.values.resize((row + 1) * self.stride, 0);
        self.scales.push(quantize(vector, &mut self.values[row * self.stride..]));
        Some(row)
    }

    /// Puts a vector in the place of a row; false where there is no such row or the dimension is another.
    pub fn set(&mut self, row: usize, vector: &[f32]) -> bool {
        if row >= self.len() || vector.len() != self.dimension {
            return false;
        }
        let place = row * self.stride..(row + 1) * self.stride;
        self.scales[row] = quantize(vector, &mut self.values[place]);
        true
    }

    /// Adds the row of another block of the same dimension; gives its number, or none where there is no such row.
    pub fn push_row(&mut self, other: &Self, row: usize) -> Option<usize> {
        if other.dimension != self.dimension || row >= other.len() {
            return None;
        }
        self.values.extend_from_slice(&other.values[row * self.stride..(row + 1) * self.stride]);
        self.scales.push(other.scales[row]);
        Some(self.len() - 1)
    }

    /// How near every row is to a vector by its bytes, in the order of rows; all 0 for a vector of another dimension.
    pub fn cosines(&self, query: &[f32]) -> Vec<f32> {
        if query.len() != self.dimension {
            return vec![0.0; self.len()];
        }
        let mut bytes = vec![0; self.stride];
        let scale = quantize(query, &mut bytes);
        let mut cosines = Vec::with_capacity(self.len());
        self.dot.scan(
            &bytes,
            &self.values,
            |_| true,
            |row, product| {
                cosines.push(product as f32 * (self.scales[row] * scale));
            },
        );
        cosines
    }

    /// The rows nearest to a vector, at most `limit`, nearest first, ties by row. With `allowed` only rows in it
    /// are looked at. Nothing is near a vector of another dimension.
    pub fn nearest(&self, query: &[f32], allowed: Option<&RowSet>, limit: usize) -> Vec<NearestRow> {
        if query.len() != self.dimension || limit == 0 {
            return Vec::new();
        }
        let mut bytes = vec![0; self.stride];
        let scale = quantize(query, &mut bytes);
        let wanted = |row| allowed.is_none_or(|rows| rows.contains(row));
        // The worst on top: it makes room for what is better. Rows come in order, so of two that are equally
        // near the first stays.
        let mut best: BinaryHeap<Reverse<(OrderedFloat, Reverse<usize>)>> =
            BinaryHeap::with_capacity(limit.min(self.len()) + 1);
        self.dot.scan(&bytes, &self.values, wanted, |row, product| {
            let near = Reverse((OrderedFloat(product as f32 * (self.scales[row] * scale)), Reverse(row)));
            if best.len() < limit {
                best.push(near);
            } else if best.peek().is_some_and(|worst| near < *worst) {
                best.pop();
                best.push(near);
            }
        });
        let sorted = best.into_sorted_vec();
        sorted
            .into_iter()
            .map(|Reverse((OrderedFloat(cosine), Reverse(row)))| NearestRow { row, cosine })
            .collect()
    }
}

/// Floats in their total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderedFloat(f32);

impl Eq for OrderedFloat {}

impl PartialOrd for OrderedFloat {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedFloat {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Writes a vector as bytes from -127 to 127; gives what they are to be multiplied by. Values that are no
/// numbers become zero.
fn quantize(vector: &[f32], bytes: &mut [i8]) -> f32 {
    let largest = vector.iter().filter(|v| v.is_finite()).fold(0.0_f32, |largest, v| largest.max(v.abs()));
    let scale = largest / 127.0;
    for (byte, value) in bytes.iter_mut().zip(vector) {
        // A conversion that would not fit gives the nearest that does, and zero for what is not a number.
        *byte = if scale > 0.0 { (value / scale).round().clamp(-127.0, 127.0) as i8 } else { 0 };
    }
    scale
}

/// The cosine of two vectors of unit length, in full precision; none where their dimensions differ or it is no
/// number.
pub fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    if a.len() != b.len() {
        return None;
    }
    // Summed in one order, in double precision: the same on every machine.
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    sum.is_finite().then_some(sum as f32)
}

#[cfg(test)]
mod tests;
