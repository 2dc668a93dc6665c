import AttoATT
import AttoLinks

/// The memory into which a connection receives, reused for each PDU.
///
/// Unsafe because the standard library has no reusable block that a link fills and a PDU borrows from.
/// It is correct because the block lives as long as this object, `count` never exceeds what the link
/// has written, and `withPDU` lends the block only while its body runs, in which its owner does not
/// receive again.
package final class ReceiveBuffer {
  @exclusivity(unchecked) private var block: UnsafeMutableRawBufferPointer
  @exclusivity(unchecked) private var count = 0

  /// - Parameter capacity: octets; one more than the longest PDU, to detect longer ones.
  package init(capacity: Int) {
    block = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { block.deallocate() }

  /// Makes room for longer PDUs. The last one is lost.
  package func grow(capacity: Int) {
    guard capacity > block.count else { return }
    block.deallocate()
    block = .allocate(byteCount: capacity, alignment: 8)
    count = 0
  }

  /// Receives one PDU and replaces the last one.
  package func receive(from link: any Link) throws(LinkError) -> ReceiveOutcome {
    count = 0
    var out = OutputRawSpan(buffer: block, initializedCount: 0)
    let outcome = try link.receive(into: &out)
    count = out.finalize(for: block)
    return outcome
  }

  /// Calls `body` with the PDU that was received last, in place.
  package func withPDU<R>(_ body: (RawSpan) -> R) -> R {
    body(RawSpan(_unsafeStart: block.baseAddress!, byteCount: count))
  }
}
