//! Logistic regression by Newton's method.

use std::ops::Range;

use gatehouse_core::search::tools::{MEASURES, VerdictWeights};

/// Measures of which more never speaks against a tool.
const EVIDENCE: Range<usize> = 2..6;

/// Strength of the penalty on weights of standardized measures.
const RIDGE: f64 = 0.001;

/// Fits a logistic regression to rows of measures, class and weight by Newton's method (Hastie, Tibshirani and Friedman
/// 2009, section 4.4.1).
///
/// A measure of [`EVIDENCE`] that would speak against a tool is left out.
pub(super) fn fitted(rows: &[([f64; MEASURES], f64, f64)]) -> VerdictWeights {
    let mut rows = rows.to_vec();
    loop {
        let model = fitted_to_all(&rows);
        let lowest = EVIDENCE.min_by(|a, b| model.measures[*a].total_cmp(&model.measures[*b]));
        match lowest {
            Some(measure) if model.measures[measure] < 0.0 => {
                rows.iter_mut().for_each(|(measures, ..)| measures[measure] = 0.0);
            }
            _ => return model,
        }
    }
}

fn fitted_to_all(rows: &[([f64; MEASURES], f64, f64)]) -> VerdictWeights {
    const SIZE: usize = MEASURES + 1;
    let total: f64 = rows.iter().map(|row| row.2).sum();
    let mean = |at: usize| rows.iter().map(|row| row.2 * row.0[at]).sum::<f64>() / total;
    let means: [f64; MEASURES] = std::array::from_fn(mean);
    let spreads: [f64; MEASURES] = std::array::from_fn(|at| {
        let square = rows.iter().map(|row| row.2 * (row.0[at] - means[at]).powi(2)).sum::<f64>() / total;
        square.sqrt().max(1e-9)
    });
    let mut weights = [0.0; SIZE];
    for _ in 0..30 {
        let mut gradient = [0.0; SIZE];
        let mut curvature = [[0.0; SIZE]; SIZE];
        for (measures, class, share) in rows {
            let values: [f64; SIZE] = std::array::from_fn(|at| match at {
                MEASURES => 1.0,
                at => (measures[at] - means[at]) / spreads[at],
            });
            let sum: f64 = values.iter().zip(&weights).map(|(value, weight)| value * weight).sum();
            let probability = 1.0 / (1.0 + (-sum).exp());
            for a in 0..SIZE {
                gradient[a] += share / total * (class - probability) * values[a];
                for b in 0..SIZE {
                    curvature[a][b] +=
                        share / total * probability * (1.0 - probability) * values[a] * values[b];
                }
            }
        }
        for at in 0..MEASURES {
            gradient[at] -= RIDGE * weights[at];
            curvature[at][at] += RIDGE;
        }
        curvature[MEASURES][MEASURES] += 1e-9;
        let step = solved(curvature, gradient);
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
    }
    let measures: [f64; MEASURES] = std::array::from_fn(|at| weights[at] / spreads[at]);
    let shift: f64 = measures.iter().zip(&means).map(|(weight, mean)| weight * mean).sum();
    VerdictWeights { measures, constant: weights[MEASURES] - shift }
}

/// Solves a system of linear equations by elimination with pivots.
fn solved<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for column in 0..N {
        let pivot = (column..N).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()));
        let pivot = pivot.unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let source = matrix[column];
        if source[column] == 0.0 {
            continue;
        }
        for row in 0..N {
            if row != column {
                let factor = matrix[row][column] / source[column];
                for at in column..N {
                    matrix[row][at] -= factor * source[at];
                }
                right[row] -= factor * right[column];
            }
        }
    }
    std::array::from_fn(|at| if matrix[at][at] == 0.0 { 0.0 } else { right[at] / matrix[at][at] })
}
