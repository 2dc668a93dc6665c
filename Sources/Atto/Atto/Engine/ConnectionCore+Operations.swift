import AttoATT
import AttoGATT

/// Operations of the client, and indications of the server.
extension ConnectionCore {
  func start(_ operation: ClientOperation) -> TransactionID {
    let id =
      if let bearers { bearers.group.start(operation, at: now) } else {
        session.start(operation, at: now)
      }
    settle()
    // Reading may have paused for values that nobody receives. Otherwise the next poll reports.
    if isReadable || !watch.reportsReading { read() }
    return id
  }

  func startExchangeMTU(_ operation: ClientOperation) -> TransactionID? {
    let id = session.startExchangeMTU(operation, at: now)
    settle()
    read()
    return id
  }

  func cancel(_ id: TransactionID) {
    if let bearers {
      bearers.group.cancel(id, at: now)
    } else {
      session.cancel(id, at: now)
    }
    settle()
  }

  /// Indicates a value. `body` is called once, when the value is confirmed or with the error.
  func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], _ body: @escaping (AttoError?) -> Void
  ) -> TransactionID? {
    carrier(ofValues: handle).sendIndication(handle, value, body)
  }

  /// Forgets an indication: ``BearerCore/forget(indication:)``.
  @discardableResult func cancel(indication id: TransactionID) -> Bool {
    (bearers?.core(ofIndication: id) ?? self).forget(indication: id)
  }
}
