extension Array {
  /// An array whose elements a body appends to a span, at most as many as its capacity.
  ///
  /// The initializer of the standard library that does this allocates in a function that is not
  /// specialized, which costs 700 instructions.
  static func make(
    capacity: Int, _ body: (inout OutputSpan<Element>) -> Void
  ) -> [Element] {
    var array: [Element] = []
    array.append(addingCapacity: capacity, initializingWith: body)
    return array
  }
}

#if STANDARD_LIBRARY_6_2
  // A function that the standard library has from Swift 6.3 on, for the libraries of Debian's Swift 6.2
  // (Sources/Debian/sdk), which a newer compiler uses for arm64.

  extension Array {
    /// Appends what a body appends to a span, at most as many as its capacity, also if it throws then.
    ///
    /// - Throws: what the body throws.
    mutating func append<Failure: Error>(
      addingCapacity capacity: Int,
      initializingWith body: (inout OutputSpan<Element>) throws(Failure) -> Void
    ) throws(Failure) {
      var failure: Failure?
      // SAFETY: the span has the whole buffer, and its count is what it has initialized.
      let added = Array(unsafeUninitializedCapacity: capacity) { buffer, count in
        var span = OutputSpan(buffer: buffer, initializedCount: 0)
        do throws(Failure) { try body(&span) } catch { failure = error }
        count = span.finalize(for: buffer)
      }
      if isEmpty { self = added } else { append(contentsOf: added) }
      if let failure { throw failure }
    }
  }
#endif
