//! Token vectors in model2vec's format: a safetensors file with `embeddings` (int8, one row per token) and `weights`
//! (f32, one factor per row). Nothing is copied.

use serde_json::Value;

use super::DIMENSION;

pub(super) struct VectorTable<'a> {
    vectors: &'a [u8],
    /// Little-endian.
    weights: &'a [u8],
}

impl<'a> VectorTable<'a> {
    /// Reads the header: its length in eight bytes, then JSON, then the tensor data.
    pub(super) fn read(file: &'a [u8]) -> Result<Self, String> {
        let (length, rest) = file.split_first_chunk::<8>().ok_or("missing header")?;
        let length =
            usize::try_from(u64::from_le_bytes(*length)).map_err(|_| "the header length is out of range")?;
        let (header, data) = rest.split_at_checked(length).ok_or("the header is longer than the file")?;
        let header: Value = serde_json::from_slice(header).map_err(|error| error.to_string())?;
        let (shape, vectors) = tensor(&header, "embeddings", "I8", data)?;
        let (lines, weights) = tensor(&header, "weights", "F32", data)?;
        let [rows, DIMENSION] = shape[..] else {
            return Err(format!("invalid shape of the vectors: {shape:?}"));
        };
        if lines != [rows] || vectors.len() != rows * DIMENSION || weights.len() != rows * 4 {
            return Err(format!("found {rows} vectors but weights of shape {lines:?}"));
        }
        Ok(Self { vectors, weights })
    }

    pub(super) fn rows(&self) -> usize {
        self.weights.len() / 4
    }

    /// Adds a token's vector to `sum`. Does nothing if the token is outside the table.
    pub(super) fn add(&self, token: u16, sum: &mut [f32; DIMENSION]) {
        let token = usize::from(token);
        let vector = self.vectors.get(token * DIMENSION..).and_then(|rest| rest.first_chunk::<DIMENSION>());
        let weight = self.weights.get(token * 4..).and_then(|rest| rest.first_chunk::<4>());
        let (Some(vector), Some(weight)) = (vector, weight) else { return };
        let weight = f32::from_le_bytes(*weight);
        for (sum, &byte) in sum.iter_mut().zip(vector) {
            *sum += weight * f32::from(byte.cast_signed());
        }
    }
}

fn tensor<'a>(
    header: &Value,
    name: &str,
    kind: &str,
    data: &'a [u8],
) -> Result<(Vec<usize>, &'a [u8]), String> {
    let tensor = &header[name];
    if tensor["dtype"] != kind {
        return Err(format!("missing tensor `{name}` of type {kind}"));
    }
    let numbers = |key: &str| -> Vec<usize> {
        let values = tensor[key].as_array().into_iter().flatten();
        values.filter_map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok())).collect()
    };
    let [start, end] = numbers("data_offsets")[..] else {
        return Err(format!("missing offsets of `{name}`"));
    };
    let bytes = data.get(start..end).ok_or_else(|| format!("`{name}` extends past the end of the file"))?;
    Ok((numbers("shape"), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut file = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.resize(file.len() + data, 1);
        file
    }

    fn header(kind: &str, rows: usize, end: usize) -> String {
        format!(
            r#"{{"weights":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}},
                "embeddings":{{"dtype":"{kind}","shape":[{rows},256],"data_offsets":[8,{end}]}}}}"#
        )
    }

    #[test]
    fn a_table_is_what_its_header_says() {
        let file = file(&header("I8", 2, 520), 520);
        let table = VectorTable::read(&file).expect("a table");
        assert_eq!(table.rows(), 2);
        let mut sum = [0.0; DIMENSION];
        table.add(1, &mut sum);
        let once = sum;
        assert!(once[0] > 0.0);
        table.add(2, &mut sum);
        assert_eq!(sum, once, "a token beyond the table adds nothing");
    }

    #[test]
    fn broken_files_are_refused() {
        let good = file(&header("I8", 2, 520), 520);
        let broken = [
            Vec::new(),
            good[..7].to_vec(),
            good[..40].to_vec(),
            good[..good.len() - 1].to_vec(),
            file(&header("F16", 2, 520), 520),
            file(&header("I8", 3, 520), 520),
            file(&header("I8", 2, 519), 520),
            file("{}", 520),
            file("not JSON", 520),
            [&u64::MAX.to_le_bytes()[..], &good[8..]].concat(),
        ];
        for (number, file) in broken.iter().enumerate() {
            assert!(VectorTable::read(file).is_err(), "{number}");
        }
    }
}
