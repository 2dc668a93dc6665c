/// What a reading is: its name and unit, and its class in Home Assistant.
package struct SensorKind: Hashable, Sendable {
  /// The content of readings.
  package enum Content: String, Hashable, Sendable {
    /// A number, whose history is its average.
    case number
    /// A number that only grows until it starts again.
    case total
    /// A state that is on or off.
    case state
    /// A word or a text.
    case text
    /// Something that happened at the time of the advertisement.
    case event
  }

  /// The key in JSON, such as `dewPoint`.
  package let key: String
  /// The content of readings.
  package let content: Content
  /// The unit's symbol; nil for none.
  package let unit: String?
  /// Home Assistant's `device_class`; nil if none fits.
  package let deviceClass: String?

  /// The name for people: `Dew point`.
  package var name: String { Self.words(key) }

  /// Home Assistant's `state_class`.
  package var stateClass: String? {
    switch content {
    case .number: deviceClass == "timestamp" ? nil : "measurement"
    case .total: "total_increasing"
    default: nil
    }
  }

  /// The events of this kind, sorted.
  package var eventTypes: [String] {
    Set(BTHome.events(of: key) + Xiaomi.events(of: key)).sorted()
  }

  /// `Probe1` and `dewPoint` as `Probe 1` and `Dew point`. Abbreviations are known.
  static func words(_ key: String) -> String {
    if let known = names[key] { return known }
    var words = ""
    var wasDigit = false
    for scalar in key.unicodeScalars {
      let isDigit = ("0"..."9").contains(scalar)
      if ("A"..."Z").contains(scalar) || isDigit && !wasDigit, !words.isEmpty { words += " " }
      words += words.isEmpty ? "\(scalar)".uppercased() : "\(scalar)".lowercased()
      wasDigit = isDigit
    }
    return words
  }

  private static let names = [
    "co2": "CO₂", "voc": "Volatile organic compounds", "vocIndex": "VOC index",
    "noxIndex": "NOx index", "pm1": "PM1", "pm25": "PM2.5", "pm4": "PM4", "pm10": "PM10",
    "keyID": "Key ID", "profileID": "Profile ID",
    "uvIndex": "UV index", "uuid": "UUID", "url": "URL",
    "massPounds": "Mass", "distanceMetres": "Distance", "volumeMillilitres": "Volume",
    "powerOn": "Power", "batteryLow": "Battery", "gasVolume": "Gas",
  ]

  /// The kind with a key; nil if there is none.
  static func named(_ key: some StringProtocol) -> SensorKind? { table[String(key)] }

  /// The table: a line of a content and its kinds, each a key, a unit or `-`, and a device class or `-`.
  private static let table: [String: SensorKind] = {
    var table: [String: SensorKind] = [:]
    var content = Content.number
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ").map(String.init)
      if parts.count == 1 { content = Content(rawValue: parts[0]) ?? content }
      guard parts.count == 3 else { continue }
      table[parts[0]] = SensorKind(
        key: parts[0], content: content, unit: parts[1] == "-" ? nil : parts[1],
        deviceClass: parts[2] == "-" ? nil : parts[2])
    }
    return table
  }()

  private static let text = """
    number
    acceleration m/s² -
    battery % battery
    brushingTime s duration
    channel - -
    co2 ppm carbon_dioxide
    conductivity µS/cm conductivity
    consumable % -
    count - -
    current A current
    dewPoint °C temperature
    direction ° -
    distance mm distance
    distanceMetres m distance
    duration s duration
    durationCleared min duration
    durationDetected min duration
    formaldehyde mg/m³ -
    gyroscope °/s -
    heartRate bpm -
    humidity % humidity
    illuminance lx illuminance
    impedance Ω -
    impedanceHigh Ω -
    impedanceLow Ω -
    lightLevel - -
    mass kg weight
    massNonStabilized kg weight
    massPounds lb weight
    moisture % moisture
    noxIndex - -
    pm1 µg/m³ pm1
    pm25 µg/m³ pm25
    pm4 µg/m³ -
    pm10 µg/m³ pm10
    power W power
    pressure hPa atmospheric_pressure
    pressureNotPresentDuration s duration
    pressurePresentDuration s duration
    rotation ° -
    rotationalSpeed rpm -
    score - -
    sectorTimer s duration
    sectors - -
    settingsRevision - -
    speed m/s speed
    temperature °C temperature
    timestamp - timestamp
    txPower dBm signal_strength
    uvIndex - -
    voc µg/m³ volatile_organic_compounds
    vocIndex - -
    voltage V voltage
    volumeFlowRate m³/h volume_flow_rate
    volumeStorage L volume_storage
    total
    energy kWh energy
    gasVolume m³ gas
    movements - -
    precipitation mm precipitation
    uptime s duration
    volume L volume
    volumeMillilitres mL volume
    water L water
    state
    antilock - -
    armed - -
    asleep - -
    batteryCharging - battery_charging
    batteryLow - battery
    brushing - running
    carbonMonoxide - carbon_monoxide
    childLock - -
    cold - cold
    connectivity - connectivity
    door - door
    doorLeftOpen - problem
    doorStuck - problem
    fingerprint - -
    forciblyRemoved - tamper
    garageDoor - garage_door
    gas - gas
    generic - -
    heat - heat
    knockOnTheDoor - -
    light - light
    lock - lock
    motion - motion
    moving - moving
    occupancy - occupancy
    opening - opening
    plug - plug
    powerOn - power
    presence - presence
    problem - problem
    pryTheDoor - tamper
    running - running
    safety - safety
    smoke - smoke
    sound - sound
    stabilized - -
    tamper - tamper
    toothbrush - running
    vibration - vibration
    wearing - -
    wetness - moisture
    window - window
    text
    brushingMode - -
    brushingPressure - -
    brushingState - -
    chargingState - -
    identifier - -
    keyID - -
    lockMethod - -
    major - -
    minor - -
    profileID - -
    raw - -
    sector - -
    text - -
    url - -
    uuid - -
    event
    button - button
    command - -
    cube - -
    dimmer - -
    fingerprintResult - -
    lockAction - -
    lockError - -
    motionDetected - motion
    vibrationDetected - -
    """
}
