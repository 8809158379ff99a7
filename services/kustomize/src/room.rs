//! The room that a status has for an inventory.

use weir_ssa::ObjectId;

/// Bytes of an inventory as JSON. The API server stores objects of up to 1.5 MiB; the rest of the Kustomization needs some of that.
const MAX_INVENTORY: usize = 1_350_000;
/// Bytes of `{"id":"","v":""},`, which stands around the texts of an entry of an inventory.
const ENTRY: usize = 17;

/// Returns how many of the objects, from the first on, the inventory of a status can name.
pub(crate) fn for_first<'m>(objects: impl Iterator<Item = (&'m ObjectId, &'m str)>) -> usize {
    let ends = objects.scan(0, |end, (id, version)| {
        *end += ENTRY + id.to_string().len() + version.len();
        Some(*end)
    });
    ends.take_while(|end| *end <= MAX_INVENTORY).count()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// As many as Flux can name in a status, and no more than the API server takes.
    #[rstest]
    #[case(10, 24_000, true)]
    #[case(40, 15_000, true)]
    #[case(40, 20_000, false)]
    #[case(253, 4_400, true)]
    #[case(253, 5_000, false)]
    fn objects_are_counted_by_their_names(
        #[case] length: usize,
        #[case] count: usize,
        #[case] expected: bool,
    ) {
        let (group, kind) = (String::new(), "ConfigMap".to_owned());
        let id = ObjectId { namespace: "default".to_owned(), name: "n".repeat(length), group, kind };
        assert_eq!(for_first(std::iter::repeat_n((&id, "v1"), count)) == count, expected);
        let entry = json!({"id": id.to_string(), "v": "v1"}).to_string();
        assert_eq!(entry.len() + 1, ENTRY + id.to_string().len() + 2);
    }
}
