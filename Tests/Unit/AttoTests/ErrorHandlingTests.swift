import Glibc
import TestSupport
import Testing

@testable import Atto

/// What errors say about the connection and about another attempt.
@Suite(.oneByOne) struct ErrorHandlingTests {
  private static func refused(_ code: ErrorCode) -> AttoError {
    .refused(ErrorResponse(request: .readRequest, handle: 3, code: code))
  }

  private static func link(_ operation: LinkError.Operation, _ errno: Int32) -> AttoError {
    .link(LinkError(operation, .system(errno), endpoint: "le:"))
  }

  /// Errors, whether they leave no connection, and whether a later attempt may succeed.
  static let errors: [(AttoError, ends: Bool, isRetryable: Bool)] = [
    (refused(.readNotPermitted), false, false), (refused(.insufficientResources), false, true),
    (refused(.prepareQueueFull), false, true), (refused(.databaseOutOfSync), false, true),
    (refused(ErrorCode(0x80)), false, false),
    (.violation(.incompleteResponse(.readRequest)), false, false),
    (.misuse(.mtuAlreadyExchanged), false, false), (.database(.noHandlesLeft), false, false),
    (.securityTimeout(.medium, after: .seconds(1)), false, false),
    (
      .insufficientSecurity(
        ErrorResponse(request: .readRequest, handle: 3, code: .insufficientEncryption), .highest),
      false, false
    ),
    (.closed, true, false), (.disconnected(peer: "strap"), true, true),
    (.bearer(.transactionTimeout(.readRequest)), true, true), (.bearer(.linkEnded), true, true),
    (link(.receive, ECONNRESET), true, true), (link(.connect, ENOENT), true, true),
    (link(.connect, EMFILE), true, true), (link(.connect, EACCES), true, false),
    (link(.open, EAFNOSUPPORT), true, false), (link(.raiseSecurity, EINVAL), false, false),
    (.link(LinkError(.connect, .invalidPath, endpoint: "unix:")), true, false),
    (.pairing(peer: "strap", .keyMissing), true, false),
    (.pairing(peer: "strap", .linkLost), true, true),
    (.connectTimeout(endpoint: "air:Strap", after: .seconds(1)), true, true),
    (.radio(.poweredOff("hci0")), true, true), (.radio(.invalidName("")), true, false),
    (.radio(.cancelled), true, false), (.radio(.closed), true, false),
    (.radio(.link(LinkError(.connect, .system(EACCES), endpoint: "le:"))), true, false),
    (.tooManyClients(limit: 1), true, true),
    (.endpoint(EndpointError(text: "le:", .noPeer)), true, false),
    (.cancelled, false, false),
  ]

  @Test(arguments: errors) func whatToDo(_ error: AttoError, ends: Bool, isRetryable: Bool) {
    #expect(error.endsConnection == ends)
    #expect(error.isRetryable == isRetryable)
    #expect(error.isCancellation == (error == .cancelled || error == .radio(.cancelled)))
  }

  /// An end by this end is told from one by the peer.
  @Test func ends() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      connection.close()
      #expect(await connection.endReason == .closed)
      #expect(await failure { try await connection.readOnce(3) } == .closed)
      #expect(AttoError.closed.description == "the connection was closed")
      let other = try RawPeer()
      let lost = try await other.connect()
      other.close()
      try await lost.waitUntilClosed()
      #expect(await lost.endReason == .disconnected(peer: lost.peerName))
    }
  }
}
