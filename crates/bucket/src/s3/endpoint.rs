//! The URL of a bucket: `https://host/bucket/key`, or `https://bucket.host/key` where the server has names for buckets.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;
use weir_http::{Unanswered, go_url};

use crate::error::Error;

/// Characters that are escaped in keys: all that some signer escapes.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
const IN_QUERY: AsciiSet = IN_PATH.add(b'/');
const AMAZON: &str = "s3.amazonaws.com";
const GOOGLE: &str = "storage.googleapis.com";
/// Domain of the hosts of Aliyun, which take no other way to a bucket.
const ALIYUN: &str = ".aliyuncs.com";
/// Starts of Amazon's hosts, before the region; longer ones first.
const AMAZON_STARTS: [&str; 5] = ["s3-fips.dualstack.", "s3-fips.", "s3.dualstack.", "s3.", "s3-"];
/// Lengths of bucket names, in bytes.
const NAME_LENGTHS: std::ops::RangeInclusive<usize> = 3..=63;
/// Bytes of a host's name.
const MAX_HOST: usize = 255;
/// Characters that MinIO's client takes in no host.
const OUTSIDE_OF_HOSTS: &[char] = &[
    '`', '~', '!', '@', '#', '$', '%', '^', '&', '*', '(', ')', '+', '=', '{', '}', '[', ']', '|', '\\', '"',
    '\'', ';', ':', '>', '<', '?', '/',
];

pub(super) struct Endpoint {
    /// Scheme, host and port.
    base: Url,
    bucket: String,
    /// True when the bucket is part of the host's name.
    is_virtual: bool,
}

impl Endpoint {
    pub(super) fn new(endpoint: &str, insecure: bool, bucket: &str) -> Result<Self, Error> {
        let refuse = |reason: String| {
            let endpoint = endpoint.split(['?', '#']).next().unwrap_or_default();
            let endpoint = endpoint.rsplit('@').next().unwrap_or_default().to_owned();
            Error::Endpoint { endpoint, reason }
        };
        let scheme = if insecure { "http" } else { "https" };
        let endpoint = endpoint.strip_suffix('/').unwrap_or(endpoint);
        let is_host = !endpoint.contains(['/', '@', '?', '#']);
        let text = format!("{scheme}://{endpoint}");
        if is_host {
            check_host(endpoint, &text)?;
        }
        if endpoint.contains('/') && !endpoint.contains('@') {
            return Err(Error::EndpointPath);
        }
        let base = match Url::parse(&text) {
            Ok(base) if is_host && base.path() == "/" => base,
            Err(url::ParseError::InvalidPort) if is_host => {
                check_name(bucket)?;
                return Err(no_port(endpoint, &text, bucket));
            }
            Err(error) if is_host => return Err(refuse(error.to_string())),
            _ => return Err(refuse("it must be 'host' or 'host:port'".to_owned())),
        };
        check_name(bucket)?;
        let host = base.host_str().unwrap_or_default();
        // A certificate for *.host does not cover a name with a dot in it.
        let has_names = is_amazon(host) || host == GOOGLE || host.ends_with(ALIYUN);
        let is_name = !bucket.contains([':', '_']) && (insecure || !bucket.contains('.'));
        Ok(Self { base, bucket: bucket.to_owned(), is_virtual: has_names && is_name })
    }

    /// Returns true when this is Google's imitation of S3, which knows only the first kind of listing (SRC-BKT-9).
    pub(super) fn is_google(&self) -> bool {
        self.base.host_str() == Some(GOOGLE)
    }

    /// Returns the region that the name of one of Amazon's hosts holds.
    pub(super) fn region(&self) -> Option<&str> {
        region_of(self.base.host_str()?)
    }

    /// Returns the URL of the bucket's region. The two forms of its query are those of MinIO's client.
    pub(super) fn location(&self) -> Result<Url, Error> {
        let mut url = self.url(super::DEFAULT_REGION, None, &[])?;
        url.set_query(Some(if self.is_virtual { "location" } else { "location=" }));
        Ok(url)
    }

    /// The URL of an object, or of the bucket.
    pub(super) fn url(&self, region: &str, key: Option<&str>, query: &[(&str, &str)]) -> Result<Url, Error> {
        let mut url = self.base.clone();
        let mut host = url.host_str().unwrap_or_default().to_owned();
        if host == AMAZON && region != super::DEFAULT_REGION {
            host = format!("s3.{region}.amazonaws.com");
        }
        if self.is_virtual {
            host = format!("{}.{host}", self.bucket);
        }
        if url.host_str() != Some(&host) {
            url.set_host(Some(&host)).map_err(|error| Error::malformed("host", error))?;
        }
        let key = utf8_percent_encode(key.unwrap_or_default(), &IN_PATH);
        url.set_path(&if self.is_virtual { format!("/{key}") } else { format!("/{}/{key}", self.bucket) });
        let escape = |text| utf8_percent_encode(text, &IN_QUERY);
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
        url.set_query((!pairs.is_empty()).then(|| pairs.join("&")).as_deref());
        Ok(url)
    }
}

/// Returns true when a host is one of Amazon's own.
fn is_amazon(host: &str) -> bool {
    amazon_name(host).is_some_and(|name| name == "s3" || name.starts_with("s3.") || name.starts_with("s3-"))
}

/// Returns a host's name within Amazon's domains.
fn amazon_name(host: &str) -> Option<&str> {
    host.strip_suffix(".cn").unwrap_or(host).strip_suffix(".amazonaws.com")
}

/// Returns the region in the name of one of Amazon's hosts, interface endpoints of a private network included.
fn region_of(host: &str) -> Option<&str> {
    let name = amazon_name(host)?;
    let region = match name.strip_suffix(".vpce") {
        Some(private) => private.rsplit_once(".s3.")?.1,
        None => AMAZON_STARTS.iter().find_map(|start| name.strip_prefix(start))?,
    };
    // Other hosts have names of that kind too: `s3-external-1`, `s3-accelerate`.
    let is_region = region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && region.matches('-').count() >= 2
        && region.ends_with(|last: char| last.is_ascii_digit());
    is_region.then_some(region)
}

/// Refuses what is no host, in the words of Go and of MinIO's client.
fn check_host(endpoint: &str, text: &str) -> Result<(), Error> {
    go_url::check(text).map_err(Error::NoHost)?;
    let unported = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    let is_domain = !endpoint.contains(['[', ']'])
        && (1..=MAX_HOST).contains(&unported.len())
        && !unported.starts_with(['-', '_', '.'])
        && !unported.ends_with(['-', '_'])
        && !unported.contains(OUTSIDE_OF_HOSTS);
    if is_domain || endpoint.starts_with('[') {
        return Ok(());
    }
    let words = format!("Endpoint: {endpoint} does not follow ip address or domain name standards.");
    Err(Error::NoHost(words))
}

/// The error of a port that no server has, which Flux's client finds when it wants to connect.
fn no_port(endpoint: &str, text: &str, bucket: &str) -> Error {
    let port = endpoint.rsplit_once(':').map_or("", |(_, port)| port);
    let cause = Unanswered {
        method: "Get",
        url: format!("{text}/{bucket}/?location="),
        reason: format!("dial tcp: address {port}: invalid port"),
    };
    Error::Transport { cause, is_transient: false }
}

/// The rules of MinIO's client, in its words. They also keep a name from being a path.
fn check_name(name: &str) -> Result<(), Error> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    let is_outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let reason = if name.trim().is_empty() {
        "Bucket name cannot be empty"
    } else if bytes.len() < *NAME_LENGTHS.start() {
        "Bucket name cannot be shorter than 3 characters"
    } else if bytes.len() > *NAME_LENGTHS.end() {
        "Bucket name cannot be longer than 63 characters"
    } else if name.parse::<std::net::Ipv4Addr>().is_ok() {
        "Bucket name cannot be an ip address"
    } else if name.contains("..")
        || !bytes.iter().all(|byte| is_inner(*byte))
        || !is_outer(bytes.first())
        || !is_outer(bytes.last())
    {
        "Bucket name contains invalid characters"
    } else {
        return Ok(());
    };
    Err(Error::Name { reason })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("127.0.0.1:9000", "apps", Some("a b/c+d.yaml"), "http://127.0.0.1:9000/apps/a%20b/c%2Bd.yaml")]
    #[case("127.0.0.1:9000", "apps", None, "http://127.0.0.1:9000/apps/")]
    #[case("127.0.0.1:9000", "apps", Some("a//b"), "http://127.0.0.1:9000/apps/a//b")]
    #[case("s3.amazonaws.com", "apps", Some("a"), "http://apps.s3.eu-west-1.amazonaws.com/a")]
    #[case("s3.eu-west-1.amazonaws.com", "apps", Some("a"), "http://apps.s3.eu-west-1.amazonaws.com/a")]
    #[case("storage.googleapis.com", "apps", None, "http://apps.storage.googleapis.com/")]
    #[case("minio.minio.svc:9000", "Apps_1", None, "http://minio.minio.svc:9000/Apps_1/")]
    fn urls(#[case] host: &str, #[case] bucket: &str, #[case] key: Option<&str>, #[case] url: &str) {
        let endpoint = Endpoint::new(host, true, bucket).unwrap();
        assert_eq!(endpoint.url("eu-west-1", key, &[]).unwrap().as_str(), url);
    }

    #[rstest]
    #[case("s3.eu-west-1.amazonaws.com", Some("eu-west-1"))]
    #[case("s3-eu-west-1.amazonaws.com", Some("eu-west-1"))]
    #[case("s3.dualstack.eu-west-1.amazonaws.com", Some("eu-west-1"))]
    #[case("s3-fips.us-gov-west-1.amazonaws.com", Some("us-gov-west-1"))]
    #[case("s3-fips.dualstack.us-gov-west-1.amazonaws.com", Some("us-gov-west-1"))]
    #[case("s3.cn-north-1.amazonaws.com.cn", Some("cn-north-1"))]
    #[case("bucket.vpce-0e25-x.s3.us-east-1.vpce.amazonaws.com", Some("us-east-1"))]
    #[case("s3.amazonaws.com", None)]
    #[case("s3-external-1.amazonaws.com", None)]
    #[case("s3-accelerate.amazonaws.com", None)]
    #[case("s3.eu-west-1.example.com", None)]
    #[case("minio.minio.svc", None)]
    fn regions_in_names(#[case] host: &str, #[case] region: Option<&str>) {
        assert_eq!(Endpoint::new(host, false, "apps").unwrap().region(), region);
    }

    #[test]
    fn names_with_dots_are_no_hosts_under_tls() {
        let url = |insecure| {
            let endpoint = Endpoint::new("s3.amazonaws.com", insecure, "my.apps").unwrap();
            endpoint.url("us-east-1", Some("a"), &[("prefix", "x/y z")]).unwrap().to_string()
        };
        assert_eq!(url(false), "https://s3.amazonaws.com/my.apps/a?prefix=x%2Fy%20z");
        assert_eq!(url(true), "http://my.apps.s3.amazonaws.com/a?prefix=x%2Fy%20z");
    }

    #[test]
    fn a_slash_at_the_end_is_no_path() {
        let endpoint = Endpoint::new("127.0.0.1:9000/", true, "apps").unwrap();
        assert_eq!(endpoint.location().unwrap().as_str(), "http://127.0.0.1:9000/apps/?location=");
    }

    #[rstest]
    #[case("", "Bucket name cannot be empty")]
    #[case("bu", "Bucket name cannot be shorter than 3 characters")]
    #[case("10.0.0.1", "Bucket name cannot be an ip address")]
    #[case("a/../b", "Bucket name contains invalid characters")]
    #[case("abc?x", "Bucket name contains invalid characters")]
    #[case("-abc", "Bucket name contains invalid characters")]
    fn refused_names(#[case] name: &str, #[case] reason: &str) {
        assert_eq!(check_name(name).unwrap_err().to_string(), reason);
    }

    /// In the words of MinIO's client.
    #[rstest]
    #[case("http://127.0.0.1:9000")]
    #[case("host/path")]
    fn endpoints_with_a_path_or_a_scheme(#[case] endpoint: &str) {
        let error = Endpoint::new(endpoint, true, "xb").err().unwrap().to_string();
        assert_eq!(error, "Endpoint url cannot have fully qualified paths.");
    }

    #[rstest]
    #[case("user:hunter2@host")]
    #[case("https://user:hunter2@host")]
    #[case("host?sig=hunter2")]
    fn refused_endpoints(#[case] endpoint: &str) {
        let error = Endpoint::new(endpoint, true, "apps").err().unwrap().to_string();
        assert!(error.starts_with("invalid endpoint '") && !error.contains("hunter2"), "{error}");
        // The endpoint is told first, as the name may be right once it is looked for in the right place.
        let both = Endpoint::new(endpoint, true, "xb").err().unwrap().to_string();
        assert_eq!(both, error);
    }

    /// In the words of Go, and of MinIO's client.
    #[rstest]
    #[case("", "Endpoint:  does not follow ip address or domain name standards.")]
    #[case("-a:9000", "Endpoint: -a:9000 does not follow ip address or domain name standards.")]
    #[case("a*b", "Endpoint: a*b does not follow ip address or domain name standards.")]
    #[case("a b", "parse \"http://a b\": invalid character \" \" in host name")]
    #[case("a:b", "parse \"http://a:b\": invalid port \":b\" after host")]
    #[case("a:99999", "Get \"http://a:99999/apps/?location=\": dial tcp: address 99999: invalid port")]
    fn endpoints_that_are_no_host(#[case] endpoint: &str, #[case] expected: &str) {
        assert_eq!(Endpoint::new(endpoint, true, "apps").err().unwrap().to_string(), expected);
    }

    #[rstest]
    #[case("[::1]:9000")]
    #[case("minio_1.svc")]
    #[case("xn--mnchen-3ya.de")]
    fn hosts(#[case] endpoint: &str) {
        assert!(Endpoint::new(endpoint, true, "apps").is_ok());
    }
}
