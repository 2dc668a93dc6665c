import AttoATT
import AttoLinks

// For tests of the peer on a connection that is in use.

extension Connection {
  /// Calls a body with each PDU from now on, beside the monitor of the options; nil ends it. Called on the
  /// loop; must be quick.
  package func watch(_ body: (@Sendable (MonitoredPDU) -> Void)?) async throws(AttoError) {
    try await onLoop { core in
      for one in core.bearers?.all ?? [core] { one.sender.watch(body) }
    }
  }

  /// Sends a PDU unchecked over the unenhanced bearer. Not for requests: their responses would belong to
  /// nothing.
  package func sendUnchecked(_ pdu: [UInt8]) async throws(AttoError) {
    try await onLoop { core in
      core.session.bearer.transmitRaw(pdu.span.bytes)
      core.settle()
    }
  }
}
