//! Weights in the format safetensors: the length of a header, the header in JSON, and numbers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use crate::embed::EmbedError;

/// A file of weights, of which one tensor after the other is read.
#[derive(Debug)]
pub(super) struct Safetensors {
    file: BufReader<File>,
    tensors: HashMap<String, TensorEntry>,
    /// The place in the file where the numbers begin.
    start: u64,
    /// The bytes of all numbers.
    length: u64,
}

/// A tensor, as the header describes it.
#[derive(Debug, Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// The header of a file with some thousand tensors is shorter.
const LONGEST_HEADER: u64 = 1 << 20;

/// The entry of the header that is no tensor.
const METADATA: &str = "__metadata__";

impl Safetensors {
    pub(super) fn open(path: &Path) -> Result<Self, EmbedError> {
        let wrong = |why: String| EmbedError::new(format!("{}: {why}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let size = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
        let mut file = BufReader::new(file);
        let mut header = [0; 8];
        file.read_exact(&mut header).map_err(|error| wrong(error.to_string()))?;
        let header = u64::from_le_bytes(header);
        if header > LONGEST_HEADER || header > size.saturating_sub(8) {
            return Err(wrong("this is no file of weights".into()));
        }
        let mut text = Vec::new();
        (&mut file).take(header).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
        let mut entries: HashMap<String, serde_json::Value> =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        entries.remove(METADATA);
        let tensors = entries
            .into_iter()
            .map(|(name, entry)| Ok((name, serde_json::from_value(entry)?)))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|error| wrong(error.to_string()))?;
        Ok(Self { file, tensors, start: 8 + header, length: size - 8 - header })
    }

    /// Reads the numbers of a tensor, which has to have this shape.
    pub(super) fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        let wrong = |why: String| EmbedError::new(format!("the weights `{name}` {why}"));
        let entry = self.tensors.get(name).ok_or_else(|| wrong("are missing".into()))?;
        if entry.dtype != "F32" {
            return Err(wrong(format!("are of the type {} and not F32", entry.dtype)));
        }
        if entry.shape != shape {
            return Err(wrong(format!("have the shape {:?} instead of {shape:?}", entry.shape)));
        }
        let numbers = shape.iter().try_fold(1_usize, |product, side| product.checked_mul(*side));
        let bytes = numbers.and_then(|numbers| u64::try_from(numbers.checked_mul(4)?).ok());
        let [begin, end] = entry.data_offsets;
        if end > self.length || bytes.is_none() || end.checked_sub(begin) != bytes {
            return Err(wrong("are not where the header says".into()));
        }
        let failed = |error: std::io::Error| wrong(error.to_string());
        self.file.seek(SeekFrom::Start(self.start + begin)).map_err(failed)?;
        let mut numbers = vec![0.0; numbers.unwrap_or_default()];
        let mut block = [0; 4 * BLOCK];
        for some in numbers.chunks_mut(BLOCK) {
            let block = &mut block[..4 * some.len()];
            self.file.read_exact(block).map_err(failed)?;
            for (number, bytes) in some.iter_mut().zip(block.as_chunks().0) {
                *number = f32::from_le_bytes(*bytes);
            }
        }
        // No number of a model is as large, and sums of such numbers are finite.
        if numbers.iter().any(|number| number.is_nan() || number.abs() > LARGEST) {
            return Err(wrong("have a number that cannot be".into()));
        }
        Ok(numbers)
    }
}

/// The number of numbers that are read at once.
const BLOCK: usize = 2048;
const LARGEST: f32 = 1e6;

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    /// Returns a file with these tensors.
    pub(in crate::embed::encoder) fn file(tensors: &[(&str, &[usize], &[f32])]) -> Vec<u8> {
        let mut header = json!({ METADATA: { "format": "pt" } });
        let mut data = Vec::new();
        for (name, shape, numbers) in tensors {
            let begin = data.len();
            data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            header[*name] = json!({ "dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()] });
        }
        framed(&header, &data)
    }

    fn framed(header: &Value, data: &[u8]) -> Vec<u8> {
        let header = header.to_string();
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        [&length[..], header.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8], shape: &[usize]) -> Result<Vec<f32>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let tensors = Safetensors::open(file.path()).map_err(|error| error.to_string());
        tensors?.read("a", shape).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tensor_is_read_as_it_was_written() {
        let bytes = file(&[("b", &[1], &[7.0]), ("a", &[2, 2], &[1.0, -2.0, 3.5, 0.0])]);
        assert_eq!(read(&bytes, &[2, 2]).unwrap(), [1.0, -2.0, 3.5, 0.0]);
        assert!(read(&bytes, &[4]).unwrap_err().contains("shape"));
    }

    #[test]
    fn files_that_lie_are_refused() {
        let whole = file(&[("a", &[2], &[1.0, 2.0])]);
        for length in [0, 7, 8, 20, whole.len() - 1] {
            assert!(read(&whole[..length], &[2]).is_err(), "{length}");
        }
        let entry = |shape: Value, offsets: Value| {
            let header = json!({ "a": { "dtype": "F32", "shape": shape, "data_offsets": offsets } });
            framed(&header, &[0; 8])
        };
        assert!(read(&entry(json!([2]), json!([0, 8])), &[2]).is_ok());
        assert!(read(&entry(json!([2]), json!([4, 12])), &[2]).is_err());
        assert!(read(&entry(json!([2]), json!([8, 0])), &[2]).is_err());
        assert!(read(&entry(json!([1]), json!([0, 8])), &[1]).is_err());
        assert!(read(&entry(json!([-1]), json!([0, 8])), &[1]).is_err());
        let most = usize::MAX;
        assert!(read(&entry(json!([most, 2]), json!([0, 8])), &[most, 2]).is_err());
        assert!(read(&u64::MAX.to_le_bytes(), &[1]).is_err());
        assert!(read(&file(&[("a", &[1], &[f32::NAN])]), &[1]).is_err());
        assert!(read(&file(&[("b", &[1], &[1.0])]), &[1]).unwrap_err().contains("missing"));
    }
}
