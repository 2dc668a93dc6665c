extension Configuration {
  /// Whether scan responses are asked for, unless clients say. They matter where names do, which are often
  /// in them: to those who get all advertisements, to sensors that are known by their names, and to
  /// devices that are found by what they advertise.
  package var scansActively: Bool {
    advertisements.active
      ?? (advertisements.forward || esphome != nil || !sensors.isEmpty
        || devices.contains { $0.match.localName != nil || $0.match.service != nil })
  }
}
