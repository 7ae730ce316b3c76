//! URLs of objects: recognising them, and displaying them without secrets.

use std::fmt;

/// Supported schemes, followed by "://".
const SCHEMES: [&str; 8] = ["http", "https", "s3", "s3a", "gs", "az", "abfs", "abfss"];

/// URL of an object: "https://…", "s3://bucket/key", "gs://bucket/key", "az://container/key".
///
/// The query of a signed URL and a password are secrets: [`fmt::Display`] and [`fmt::Debug`] omit them.
///
/// ```
/// use tachyfits_io::RemoteUrl;
/// let url = RemoteUrl::of("https://user:word@archive.org/cube.fits?X-Amz-Signature=1234").unwrap();
/// assert_eq!(url.to_string(), "https://archive.org/cube.fits");
/// assert!(RemoteUrl::of("cube.fits").is_none());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl {
    text: String,
    /// Length of the scheme.
    scheme: usize,
}

impl RemoteUrl {
    /// Returns the URL if a text is one.
    pub fn of(text: &str) -> Option<RemoteUrl> {
        let (scheme, rest) = text.split_once("://")?;
        let is_known = SCHEMES.iter().any(|supported| supported.eq_ignore_ascii_case(scheme));
        (is_known && !rest.is_empty())
            .then(|| RemoteUrl { text: text.to_owned(), scheme: scheme.len() })
    }

    /// Returns the scheme in lower case.
    pub fn scheme(&self) -> String {
        self.text[..self.scheme].to_ascii_lowercase()
    }

    /// Returns the complete URL, including secrets.
    pub fn with_secrets(&self) -> &str {
        &self.text
    }

    /// Returns a name of the object for caches, without secrets; `None` if the query or a password may be part of the
    /// name.
    #[cfg(feature = "remote")]
    pub(crate) fn cache_key(&self) -> Option<String> {
        let (host, _) = self.bucket_and_key();
        if !self.scheme().starts_with("http") {
            return (!host.contains(':')).then(|| self.text.clone());
        }
        let query = self.text.split_once('?').map_or("", |(_, query)| query);
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        let names = query.split('&').map(|each| each.split('=').next().unwrap_or(each));
        names.filter(|name| !name.is_empty()).all(is_of_signature).then(|| self.to_string())
    }

    /// Returns the bucket and the key of an object, which follow "://".
    #[cfg(feature = "remote")]
    pub(crate) fn bucket_and_key(&self) -> (&str, &str) {
        let rest = &self.text[self.scheme + 3..];
        rest.split_once('/').unwrap_or((rest, ""))
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key of a bucket may contain a question mark, which begins the query of an HTTP URL.
        if self.scheme().starts_with("http") {
            f.write_str(&without_secrets(&self.text))
        } else {
            f.write_str(&self.text)
        }
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({self})")
    }
}

/// Whether a query parameter is part of a signature: of Amazon, Google, CloudFront or Azure.
#[cfg(feature = "remote")]
fn is_of_signature(name: &str) -> bool {
    const NAMES: [&str; 22] = [
        "awsaccesskeyid",
        "expires",
        "googleaccessid",
        "key-pair-id",
        "policy",
        "se",
        "sig",
        "signature",
        "sip",
        "ske",
        "skoid",
        "sks",
        "skt",
        "sktid",
        "skv",
        "sp",
        "spr",
        "sr",
        "srt",
        "ss",
        "st",
        "sv",
    ];
    let name = name.to_ascii_lowercase();
    name.starts_with("x-amz-") || name.starts_with("x-goog-") || NAMES.contains(&name.as_str())
}

/// Removes queries, users and passwords from the URLs in a text.
pub(crate) fn without_secrets(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '>' | '<' | '`');
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        result.push_str(before);
        let (url, after) = url.split_at(url.find(is_end).unwrap_or(url.len()));
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let (host, path) = path.split_at(path.find('/').unwrap_or(path.len()));
        result.push_str(host.rsplit('@').next().unwrap_or(host));
        result.push_str(path);
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::{RemoteUrl, without_secrets};

    #[test]
    fn texts_lose_queries_and_passwords_of_every_url() {
        let text = "GET (https://me:pw@a.org/x?sig=1) failed, then \"http://b.org/y#z\": 403";
        let expected = "GET (https://a.org/x) failed, then \"http://b.org/y\": 403";
        assert_eq!(without_secrets(text), expected);
        assert_eq!(without_secrets("no URL here?"), "no URL here?");
    }

    #[test]
    fn names_of_buckets_keep_their_question_marks() {
        let url = RemoteUrl::of("S3://bucket/a?b.fits").expect("a URL");
        assert_eq!(url.to_string(), "S3://bucket/a?b.fits");
        assert_eq!(url.scheme(), "s3");
        #[cfg(feature = "remote")]
        assert_eq!(url.bucket_and_key(), ("bucket", "a?b.fits"));
    }

    #[cfg(feature = "remote")]
    #[test]
    fn keys_of_caches_have_no_secrets() {
        let key = |text: &str| RemoteUrl::of(text).and_then(|url| url.cache_key());
        let plain = || Some("https://a.org/x.fits".to_owned());
        assert_eq!(key("https://a.org/x.fits"), plain());
        assert_eq!(key("https://me:word@a.org/x.fits?X-Amz-Signature=1&X-Amz-Date=2"), plain());
        assert_eq!(key("https://a.org/x.fits?sv=2024&sig=1#part"), plain());
        // The query may contain the name of the file.
        assert_eq!(key("https://a.org/get?file=x.fits&sig=1"), None);
        assert_eq!(key("s3://bucket/a?b.fits").as_deref(), Some("s3://bucket/a?b.fits"));
        assert_eq!(key("s3://key:secret@bucket/x.fits"), None);
    }

    #[test]
    fn paths_are_no_urls() {
        for text in ["cube.fits", "/data/https:/x", "ftp://a/b", "https://", "C://x", "-"] {
            assert!(RemoteUrl::of(text).is_none(), "{text}");
        }
    }
}
