//! Values files are refused, or merge into values that are read as they were written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_helm::values::parse;

fuzz_target!(|content: &[u8]| {
    let mut files = content.splitn(2, |byte| *byte == 0xff);
    let (base, over) = (files.next().unwrap_or_default(), files.next().unwrap_or_default());
    let (Ok(mut values), Ok(over)) = (parse("base", base), parse("over", over)) else { return };
    values.merge(over);
    let text = values.to_yaml().unwrap();
    assert_eq!(parse("merged", text.as_bytes()).unwrap().to_yaml().unwrap(), text);
});
