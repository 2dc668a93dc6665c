import AttoATT

extension Server {
  /// How a value may be sent to a client now: as it has configured. Empty if its link is not secure
  /// enough to read the value, or if it supports robust caching and is not aware of the database.
  /// Vol 3, Part G, 2.5.2.1 and 4.10.
  public func deliveries(
    of value: AttributeHandle, to client: ServerClient
  ) -> ClientCharacteristicConfiguration {
    guard let index = database.table.index(of: value),
      let configuration = database.table[index].configuration, !client.isOutOfSync
    else { return [] }
    if case .requires(let requirement) = database.table[index].permissions.read,
      requirement.refusal(of: client.security) != nil
    {
      if let now = application.security(of: client.id) { client.security = now }
      guard requirement.refusal(of: client.security) == nil else { return [] }
    }
    return client.configuration(configuration)
  }

  /// The pending Service Changed indication of a client: its handle and value. Vol 3,
  /// Part G, 7.1.
  func serviceChanged(for client: ServerClient) -> (handle: AttributeHandle, value: [UInt8])? {
    guard let range = client.changed,
      let handle = database.handles(of: .serviceChanged).first,
      let configuration = database.configuration(ofValue: handle),
      client.configuration(configuration).contains(.indication)
    else { return nil }
    return (handle, range.start.octets + range.end.octets)
  }

  /// Makes a client with one bearer aware after it has confirmed Service Changed for this revision
  /// of the database, unless more has changed since.
  func confirmServiceChanged(_ client: ServerClient, _ revision: UInt32) {
    client.isBeingTold = false
    guard database.revision == revision else { return }
    client.changed = nil
    if client.hasOneBearer { client.awareness = .aware }
  }
}
