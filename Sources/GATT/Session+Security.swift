import ATT

/// Requests that the peer refused because the link is not protected well enough.
///
/// # Theory
///
/// A session whose owner can raise the link's security (`asksForSecurity`) does not tell an
/// operation of such a refusal at once. It keeps the operation with the Error Response and
/// returns `securityWanted`; other operations go on. The owner answers with
/// ``securityRaised(at:)`` or ``securityNotRaised(at:)``, once for all that are kept by then.
///
///     on the wire --05, 0C, 0F--> kept --raised-----> sends the same request again
///                                  |  '--not raised--> takes the Error Response
///                                  '----cancelled----> takes the Error Response, or ends
///
/// A request that was on the wire before the link was raised, and whose refusal comes after, is
/// repeated without asking: what refused it is no more. Nothing else is repeated by itself, so a
/// request is on the wire once more than the owner has raised the link since it was sent.
extension Session {
  struct Insecure {
    let id: TransactionID
    let error: ErrorResponse
  }

  /// Keeps the operation of a response, if that is a refusal for want of security. nil if it is
  /// not, and the operation is to take it.
  func keep(_ response: borrowing PDU, for id: TransactionID) -> SessionAction? {
    guard asksForSecurity, operations.contains(id) else { return nil }
    let error: ErrorResponse
    switch response {
    case .errorResponse(let response): error = response
    default: return nil
    }
    guard error.code.isForWantOfSecurity else { return nil }
    guard requestRise == rises else {
      enqueue(id, isContinuation: true)
      return SessionAction.none
    }
    insecure.append(Insecure(id: id, error: error))
    return .securityWanted(error.code)
  }

  /// How many operations wait for ``securityRaised(at:)`` or ``securityNotRaised(at:)``.
  public var insecureCount: Int { insecure.count }

  /// The link has risen: requests that wait for that are sent again.
  public func securityRaised(at now: Instant) {
    rises &+= 1
    let all = insecure
    insecure = []
    for entry in all { enqueue(entry.id, isContinuation: true) }
    pump(at: now)
  }

  /// The link will not rise: operations that wait for it take the peer's refusals.
  public func securityNotRaised(at now: Instant) {
    let all = insecure
    insecure = []
    for entry in all { refuse(entry, at: now) }
    pump(at: now)
  }

  /// An operation that is cancelled while it is kept takes the refusal, so that it can clear
  /// what it has left on the server.
  func refuseInsecure(_ id: TransactionID, at now: Instant) {
    guard let index = insecure.firstIndex(where: { $0.id == id }) else { return }
    refuse(insecure.remove(at: index), at: now)
  }

  private func refuse(_ entry: Insecure, at now: Instant) {
    let octets: [UInt8] =
      [
        Opcode.errorResponse.rawValue, entry.error.request.rawValue,
      ] + entry.error.handle.octets + [entry.error.code.rawValue]
    receive(PDU(octets.span.bytes), for: entry.id, at: now)
  }
}

extension ErrorCode {
  /// Insufficient Authentication, Encryption Key Size Too Short or Insufficient Encryption: a
  /// better protected link may help. Vol 3, Part C, 10.3.1.
  public var isForWantOfSecurity: Bool {
    switch self {
    case .insufficientAuthentication, .encryptionKeySizeTooShort, .insufficientEncryption: true
    default: false
    }
  }
}
