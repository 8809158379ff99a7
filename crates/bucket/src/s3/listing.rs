//! Pages of a listing, of both kinds.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::error::Error;
use crate::object::{Object, bare_etag};
use crate::page::Page;
use crate::xml;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListBucketResult {
    #[serde(default)]
    contents: Vec<Contents>,
    #[serde(default)]
    is_truncated: bool,
    next_continuation_token: Option<String>,
    next_marker: Option<String>,
    encoding_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Contents {
    key: String,
    #[serde(rename = "ETag", default)]
    etag: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    last_modified: String,
}

/// Reads a page; of old listings the last key names the next page.
pub(crate) fn read(body: &[u8], is_old: bool) -> Result<Page, Error> {
    let page: ListBucketResult = xml::parse("listing", body)?;
    let is_escaped = page.encoding_type.as_deref() == Some("url");
    let decode = |key: String| if is_escaped { unescape(&key) } else { Ok(key) };
    let objects: Vec<Object> = page
        .contents
        .into_iter()
        .map(|found| {
            let pin = bare_etag(&found.etag).to_owned();
            // Without an etag, size and time show a change of the content (DEP-CLD-1).
            let etag =
                if pin.is_empty() { format!("{}-{}", found.size, found.last_modified) } else { pin.clone() };
            Ok(Object { key: decode(found.key)?, etag, size: found.size, pin })
        })
        .collect::<Result<_, Error>>()?;
    let next = match is_old {
        false => page.next_continuation_token,
        true => match page.next_marker {
            Some(marker) => Some(decode(marker)?),
            None => objects.last().map(|last| last.key.clone()),
        },
    };
    Ok(Page { objects, next: next.filter(|_| page.is_truncated) })
}

/// A key as servers escape it: as forms do, with `+` for blanks.
fn unescape(key: &str) -> Result<String, Error> {
    let blanks = key.replace('+', " ");
    let decoded = percent_decode_str(&blanks).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|error| Error::malformed("key", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><EncodingType>url</EncodingType>
        <IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>
        <Contents><Key>a+b%2F%2Fc%2B.yaml</Key><ETag>&quot;e1&quot;</ETag><Size>3</Size></Contents>
        <CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes>
        <Contents><Key>apps/</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>0</Size></Contents>
        </ListBucketResult>"#;

    #[test]
    fn keys_are_exact() {
        let page = read(PAGE.as_bytes(), false).unwrap();
        let seen: Vec<_> = page.objects.iter().map(|object| (&*object.key, &*object.etag)).collect();
        assert_eq!(seen, [("a b//c+.yaml", "e1"), ("apps/", "0-2026-01-02T03:04:05.000Z")]);
        assert_eq!(page.next.as_deref(), Some("t"));
    }

    #[test]
    fn the_last_key_names_the_next_page_of_old_listings() {
        assert_eq!(read(PAGE.as_bytes(), true).unwrap().next.as_deref(), Some("apps/"));
        let last = PAGE.replace("true", "false");
        assert_eq!(read(last.as_bytes(), true).unwrap().next, None);
    }

    #[test]
    fn what_is_no_listing_is_refused() {
        for page in [
            "",
            "<html><body>",
            "<!DOCTYPE x [<!ENTITY a 'aaaa'>]><ListBucketResult><Contents><Key>&a;</Key></Contents></ListBucketResult>",
        ] {
            assert!(read(page.as_bytes(), false).is_err(), "{page}");
        }
    }

    proptest::proptest! {
        /// Whatever a server sends is read or refused.
        #[test]
        fn any_page(before in 0..PAGE.len(), text in ".{0,8}", bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            let _ = read(&bytes, false);
            if PAGE.is_char_boundary(before) {
                let (head, tail) = PAGE.split_at(before);
                let _ = read(format!("{head}{text}{tail}").as_bytes(), true);
            }
        }
    }
}
