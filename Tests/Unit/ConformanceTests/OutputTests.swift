import AttoConformance
import TestSupport
import Testing

/// Names and files.
@Suite(.sideBySide) struct OutputTests {
  @Test(arguments: [
    ("GAR", "GATT/SR/GAR/BI-01-C", true), ("gar*01-c", "GATT/SR/GAR/BI-01-C", false),
    ("*gar*01-c", "GATT/SR/GAR/BI-01-C", true), ("gatt/*", "GATT/SR/GAR/BI-01-C", true),
    ("GATT/SR", "GATT/SR", true), ("GATT/SR", "GATT/CL", false), ("*", "", true), ("", "a", true),
    ("a*b*a", "aba", true), ("a*ba", "aba", true), ("ab*ba", "aba", false),
  ]) func patterns(_ pattern: String, _ name: String, _ fits: Bool) {
    #expect(NamePattern(pattern).matches(name) == fits)
  }
}
