//! Encodings of response bodies.

use std::io::Write;

use flate2::{Compression, write};
use gatehouse_core::http::{HostPattern, HostRule};

use super::*;

fn encoding(headers: &[(HeaderName, &str)]) -> Result<Option<BodyEncoding>, String> {
    let rule =
        HostRule { key: HostPattern::parse("a.example").expect("a key"), headers: vec![], private: false };
    let rules = HttpRules::new("gate", vec![rule], []);
    let url = rules.check("https://a.example/").expect("allowed");
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, value.parse().expect("a value"));
    }
    body_encoding(&map, &url).map_err(|fault| fault.message)
}

#[test]
fn unsupported_encodings_are_rejected() {
    assert_eq!(encoding(&[(TRANSFER_ENCODING, "chunked"), (CONTENT_ENCODING, "identity")]), Ok(None));
    assert_eq!(encoding(&[(CONTENT_ENCODING, "GZip")]), Ok(Some(BodyEncoding::Gzip)));
    assert_eq!(encoding(&[(CONTENT_ENCODING, "deflate")]), Ok(Some(BodyEncoding::Deflate)));
    for bad in ["br", "zstd", "gzip, gzip", "aes128gcm"] {
        let reason = encoding(&[(CONTENT_ENCODING, bad)]).expect_err(bad);
        assert!(
            reason.starts_with("a.example answered with an unsupported encoding") && reason.contains(bad),
            "{reason}"
        );
    }
    assert!(encoding(&[(TRANSFER_ENCODING, "gzip, chunked")]).is_err());
}

#[test]
fn both_meanings_of_deflate_are_read_and_bombs_are_bounded() {
    let text = b"hello".as_slice();
    let mut gzip = write::GzEncoder::new(Vec::new(), Compression::fast());
    let mut zlib = write::ZlibEncoder::new(Vec::new(), Compression::fast());
    let mut raw = write::DeflateEncoder::new(Vec::new(), Compression::fast());
    for writer in [&mut gzip as &mut dyn Write, &mut zlib, &mut raw] {
        writer.write_all(text).expect("written");
    }
    let [gzip, zlib, raw] = [gzip.finish(), zlib.finish(), raw.finish()].map(|bytes| bytes.expect("encoded"));
    for (encoding, bytes) in
        [(BodyEncoding::Gzip, &gzip), (BodyEncoding::Deflate, &zlib), (BodyEncoding::Deflate, &raw)]
    {
        assert_eq!(encoding.decode(bytes).expect("decoded"), text);
    }
    assert!(
        BodyEncoding::Gzip.decode(b"no gzip").is_err() && BodyEncoding::Gzip.decode(&gzip[..12]).is_err()
    );
    let mut bomb = write::GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![0; 3 * MAX_RESPONSE_BODY]).expect("written");
    let bomb = bomb.finish().expect("encoded");
    assert_eq!(BodyEncoding::Gzip.decode(&bomb).expect("bounded").len(), MAX_RESPONSE_BODY + 1);
}
