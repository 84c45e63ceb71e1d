//! The quantized scan, compared with an exact one.

use proptest::prelude::*;

use super::*;

/// Deterministic pseudorandom numbers (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn unit(&mut self, dimension: usize) -> Vec<f32> {
        let vector: Vec<f32> = (0..dimension).map(|_| self.next()).collect();
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        vector.into_iter().map(|v| v / length).collect()
    }
}

fn exact(vectors: &[Vec<f32>], query: &[f32], limit: usize) -> Vec<usize> {
    let mut rows: Vec<(f32, usize)> =
        vectors.iter().enumerate().map(|(row, vector)| (cosine(vector, query).unwrap(), row)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    rows.into_iter().take(limit).map(|(_, row)| row).collect()
}

#[test]
fn quantized_pool_contains_the_exact_best_ten() {
    let mut random = Random(42);
    let vectors: Vec<Vec<f32>> = (0..2_000).map(|_| random.unit(256)).collect();
    let mut block = VectorBlock::new(256);
    vectors.iter().for_each(|vector| assert!(block.push(vector).is_some()));
    let (mut found, mut wanted) = (0, 0);
    for _ in 0..20 {
        let query = random.unit(256);
        let mut rescored: Vec<(f32, usize)> = block
            .nearest(&query, None, crate::search::MIN_CANDIDATE_POOL)
            .iter()
            .map(|near| (cosine(&vectors[near.row], &query).unwrap(), near.row))
            .collect();
        rescored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let best: Vec<usize> = rescored.into_iter().take(10).map(|(_, row)| row).collect();
        let truth = exact(&vectors, &query, 10);
        found += truth.iter().filter(|row| best.contains(row)).count();
        wanted += truth.len();
    }
    assert_eq!(found, wanted, "recall {}", found as f64 / wanted as f64);
}

#[test]
fn quantized_cosines_are_within_three_thousandths() {
    let mut random = Random(7);
    let mut block = VectorBlock::new(256);
    let vectors: Vec<Vec<f32>> = (0..500).map(|_| random.unit(256)).collect();
    vectors.iter().for_each(|vector| assert!(block.push(vector).is_some()));
    let query = random.unit(256);
    for near in block.nearest(&query, None, 500) {
        let exact = cosine(&vectors[near.row], &query).unwrap();
        assert!((near.cosine - exact).abs() < 0.003, "{} against {exact}", near.cosine);
    }
}

#[test]
fn ties_are_ordered_by_row_and_rows_can_be_replaced() {
    let mut block = VectorBlock::new(3);
    for _ in 0..5 {
        block.push(&[1.0, 0.0, 0.0]);
    }
    let rows: Vec<usize> = block.nearest(&[1.0, 0.0, 0.0], None, 3).iter().map(|near| near.row).collect();
    assert_eq!(rows, [0, 1, 2]);
    assert!(block.set(0, &[0.0, 1.0, 0.0]));
    assert_eq!(block.nearest(&[1.0, 0.0, 0.0], None, 1)[0].row, 1);
    assert_eq!(block.nearest(&[0.0, 1.0, 0.0], None, 1)[0].row, 0);
}

#[test]
fn other_dimensions_and_non_finite_values_match_nothing() {
    let mut block = VectorBlock::new(40);
    assert_eq!(block.push(&[1.0; 39]), None);
    assert_eq!(block.push(&[f32::NAN; 40]), Some(0));
    assert_eq!(block.push(&[f32::INFINITY; 40]), Some(1));
    assert_eq!(block.push(&[0.0; 40]), Some(2));
    assert!(!block.set(3, &[0.0; 40]) && !block.set(0, &[0.0; 41]));
    assert!(block.nearest(&[1.0; 39], None, 5).is_empty());
    assert!(block.nearest(&[1.0; 40], None, 0).is_empty());
    assert!(block.nearest(&[1.0; 40], None, 5).iter().all(|near| near.cosine == 0.0));
    assert_eq!(cosine(&[1.0], &[1.0, 2.0]), None);
    assert_eq!(cosine(&[f32::NAN], &[1.0]), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filter_applies_before_the_limit_and_both_products_agree(
        seed in 1_u64..u64::MAX,
        dimension in 1_usize..100,
        rows in 0_usize..60,
        kept in proptest::collection::vec(any::<bool>(), 60),
        limit in 0_usize..70,
    ) {
        let mut random = Random(seed);
        let mut block = VectorBlock::new(dimension);
        for _ in 0..rows {
            let vector = random.unit(dimension);
            block.push(&vector);
        }
        let query = random.unit(dimension);
        let allowed: RowSet = (0..rows).filter(|row| kept[*row]).collect();
        let all = block.nearest(&query, None, rows.max(1));
        prop_assert_eq!(all.len(), rows);
        let expected: Vec<NearestRow> = all.into_iter().filter(|near| allowed.contains(near.row)).take(limit).collect();
        prop_assert_eq!(&expected, &block.nearest(&query, Some(&allowed), limit));
        block.dot = DotProduct::Portable;
        prop_assert_eq!(&expected, &block.nearest(&query, Some(&allowed), limit));
    }
}

#[test]
fn row_set_spans_several_words() {
    let rows: RowSet = [0, 63, 64, 200].into_iter().collect();
    assert_eq!(rows.count(), 4);
    for row in 0..300 {
        assert_eq!(rows.contains(row), [0, 63, 64, 200].contains(&row), "{row}");
    }
    assert_eq!(RowSet::default().count(), 0);
}
