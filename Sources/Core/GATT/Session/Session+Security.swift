import AttoATT

/// Requests that the peer refused because the link's security is too low.
///
/// # Theory
///
/// If the owner of a session can raise the link's security (`asksForSecurity`), such a refusal does
/// not end the operation. The session keeps the operation with the Error Response and returns
/// `securityWanted`; other operations continue. The owner then calls ``securityRaised(at:)`` or
/// ``securityNotRaised(at:)``, once for all operations kept until then.
///
///     in flight --05, 0C, 0F--> kept --raised------> sends the same request again
///                                |  '--not raised--> receives the Error Response
///                                '----cancelled----> receives the Error Response, or ends
///
/// If the security was raised while a request was in flight and the request is then refused, it is
/// sent again without asking the owner. Nothing else is repeated automatically, so each request is
/// repeated at most once for each time that the security was raised.
extension Session {
  struct Insecure {
    let id: TransactionID
    let error: ErrorResponse
  }

  /// Keeps the operation if the response is a refusal for insufficient security. Returns nil
  /// otherwise; then the operation must receive the response.
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

  /// The number of operations that wait for ``securityRaised(at:)`` or ``securityNotRaised(at:)``.
  public var insecureCount: Int { insecure.count }

  /// Sends the kept requests again, after the link's security was raised.
  public func securityRaised(at now: Instant) {
    rises &+= 1
    let all = insecure
    insecure = []
    for entry in all { enqueue(entry.id, isContinuation: true) }
    pump(at: now)
  }

  /// Passes the refusals to the kept operations, because the link's security was not raised.
  public func securityNotRaised(at now: Instant) {
    let all = insecure
    insecure = []
    for entry in all { refuse(entry, at: now) }
    pump(at: now)
  }

  /// Passes the refusal to a kept operation that was cancelled, so that it can clear its prepared
  /// writes on the server.
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
  /// Whether a more secure link may help: Insufficient Authentication, Encryption Key Size Too
  /// Short or Insufficient Encryption. Vol 3, Part C, 10.3.1.
  public var isForWantOfSecurity: Bool {
    switch self {
    case .insufficientAuthentication, .encryptionKeySizeTooShort, .insufficientEncryption: true
    default: false
    }
  }
}
