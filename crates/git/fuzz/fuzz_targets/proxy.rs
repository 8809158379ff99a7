//! Answers of proxies on the way to an SSH server: refused, or read to their last byte and no further. The next byte is the server's.
#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tokio::io::{join, sink};
use tokio::runtime::{Builder, Runtime};
use weir_git::{Proxy, ask_proxy};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().build().unwrap());

/// Returns what follows the answer, if the proxy has agreed.
fn rest<'a>(address: &str, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let proxy = Proxy::from_url(address.parse().unwrap());
    let mut stream = join(Cursor::new(bytes), sink());
    let asked = RUNTIME.block_on(ask_proxy(&mut stream, &proxy, "git.example.com", 22));
    asked.ok()?;
    bytes.get(usize::try_from(stream.reader().position()).unwrap()..)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(rest) = rest("http://me:pin@proxy:3128", bytes) {
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
        assert_eq!(rest, &bytes[end + 4..]);
    }
    let open = rest("socks5://proxy:1080", bytes);
    let locked = rest("socks5://me:pin@proxy:1080", bytes);
    for rest in open.into_iter().chain(locked) {
        assert!(bytes.starts_with(&[5]) && bytes.len() - rest.len() >= 2 + 4 + 1 + 2);
    }
});
